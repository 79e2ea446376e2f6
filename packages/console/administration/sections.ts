import { AgentTrial } from './parts/agent-trial.tsx';
import { AuditHead } from './parts/audit-head.tsx';
import { ExportFile } from './parts/export-file.tsx';
import { ImportReport } from './parts/import-report.tsx';
import { NewImport } from './parts/new-import.tsx';
import { retentionMeaning } from './parts/retention-meaning.ts';
import { RolePermissions } from './parts/role-permissions.tsx';
import { RunTotals } from './parts/run-totals.tsx';
import { WidgetSnippet } from './parts/widget-snippet.tsx';
import type { Item, Section } from './section.ts';

const isStatus =
  (...states: readonly string[]) =>
  ({ status }: Item) =>
    states.includes(String(status));

export interface SectionGroup {
  readonly title: string;
  readonly sections: readonly Section[];
}

const SESSION_COLUMNS = ['created_at', 'last_used_at', 'expires_at'];

const PEOPLE: readonly Section[] = [
  {
    slug: 'people',
    title: 'People',
    one: 'person',
    about: 'Who works in this account, with which role, and where they are signed in.',
    list: 'list_users',
    get: 'get_user',
    create: 'create_user',
    update: 'update_user',
    include: { list: ['role'], get: ['role'] },
    columns: ['name', 'email', 'role', 'status'],
    omit: ['role_id', 'actor_id', 'avatar_url'],
    actions: [
      { label: 'Invite', operation: 'create_invitation', when: isStatus('active'), secret: 'url' },
      {
        label: 'Deactivate',
        operation: 'deactivate_user',
        when: isStatus('active'),
        warning: 'The person is signed out everywhere and cannot sign in until activated again.',
        isDanger: true,
      },
      { label: 'Activate', operation: 'activate_user', when: isStatus('deactivated') },
      { label: 'Claim', operation: 'claim_user', when: ({ placeholder }) => placeholder === true },
      { label: 'Export', operation: 'create_user_export', shownIn: 'exports' },
      {
        label: 'Erase',
        operation: 'erase_user',
        shownIn: 'erasures',
        warning: 'Name, address and picture of the person are removed for good. This cannot be undone.',
        isDanger: true,
      },
      {
        label: 'End all sessions',
        operation: 'end_every_session',
        warning: 'All tokens of the person stop working, on every device.',
        isDanger: true,
      },
    ],
    parts: [
      {
        title: 'Sessions',
        list: 'list_user_sessions',
        columns: SESSION_COLUMNS,
        actions: [{ label: 'End', operation: 'end_user_session', warning: 'The device is signed out.' }],
      },
    ],
  },
  {
    slug: 'roles',
    title: 'Roles',
    one: 'role',
    about: 'What people, keys and agents may do.',
    list: 'list_roles',
    get: 'get_role',
    create: 'create_role',
    update: 'update_role',
    include: { get: ['permissions'] },
    columns: ['name', 'type', 'created_at'],
    omit: ['permissions', 'owner'],
    actions: [
      {
        label: 'Delete',
        operation: 'delete_role',
        warning: 'The role is removed. This cannot be undone.',
        isDanger: true,
        removes: true,
      },
    ],
    More: RolePermissions,
  },
  {
    slug: 'groups',
    title: 'Groups',
    one: 'group',
    about: 'Teams that cases are assigned to, and under whose name customers are answered.',
    list: 'list_groups',
    get: 'get_group',
    create: 'create_group',
    update: 'update_group',
    include: { list: ['members'], get: ['members'] },
    columns: ['name', 'members', 'created_at'],
    omit: ['members', 'actor_id', 'avatar_url'],
    asBody: ({ members, ...group }) => ({
      ...group,
      members: (members as readonly Item[] | null)?.map(({ id }) => id) ?? [],
    }),
    actions: [
      {
        label: 'Delete',
        operation: 'delete_group',
        warning: 'The group is removed. This cannot be undone.',
        isDanger: true,
        removes: true,
      },
    ],
    parts: [{ title: 'Members', field: 'members', columns: ['name', 'type'] }],
  },
  {
    slug: 'customers',
    title: 'Customers',
    one: 'customer',
    about: 'People outside of the account who write to it.',
    list: 'list_customers',
    get: 'get_customer',
    update: 'update_customer',
    columns: ['name', 'email', 'status', 'created_at'],
    omit: ['avatar_url'],
    actions: [
      {
        label: 'Block',
        operation: 'block_actor',
        when: ({ blocked }) => blocked === false,
        warning: 'What the customer writes is refused until the block is removed.',
        isDanger: true,
      },
      { label: 'Unblock', operation: 'unblock_actor', when: ({ blocked }) => blocked === true },
    ],
  },
];

const ACCESS: readonly Section[] = [
  {
    slug: 'api-keys',
    title: 'API keys',
    one: 'key',
    about: 'Credentials of programs.',
    list: 'list_api_keys',
    get: 'get_api_key',
    create: 'create_api_key',
    include: { list: ['role'], get: ['role'] },
    columns: ['name', 'redacted', 'role', 'status', 'expires_at'],
    omit: ['role_id'],
    secret: 'key',
    actions: [
      {
        label: 'Rotate',
        operation: 'rotate_api_key',
        when: isStatus('active'),
        warning: 'A new key takes the place of this one.',
        secret: 'key',
        shownIn: 'api-keys',
      },
      {
        label: 'Revoke',
        operation: 'revoke_api_key',
        when: isStatus('active'),
        warning: 'Programs that use the key are refused at once. This cannot be undone.',
        isDanger: true,
      },
    ],
  },
  {
    slug: 'identity-providers',
    title: 'Identity providers',
    one: 'provider',
    about: 'Issuers whose tokens are accepted, and by which people sign in.',
    list: 'list_identity_providers',
    get: 'get_identity_provider',
    create: 'create_identity_provider',
    update: 'update_identity_provider',
    columns: ['name', 'issuer', 'person', 'provision'],
    actions: [
      {
        label: 'Delete',
        operation: 'delete_identity_provider',
        warning: 'Tokens of this issuer are refused at once.',
        isDanger: true,
        removes: true,
      },
    ],
  },
];

const AGENTS: readonly Section[] = [
  {
    slug: 'agents',
    title: 'Agents',
    one: 'agent',
    about: 'Automated colleagues: their instructions, models, tools and triggers.',
    list: 'list_agents',
    get: 'get_agent',
    create: 'create_agent',
    update: 'update_agent',
    include: { get: ['config', 'tools', 'role'] },
    columns: ['name', 'trigger_type', 'status', 'category_code'],
    omit: ['role_id', 'actor_id', 'avatar_url'],
    asBody: agentBody,
    actions: [
      { label: 'Start a run', operation: 'trigger_agent_run', shownIn: 'runs' },
      {
        label: 'Delete',
        operation: 'delete_agent',
        when: ({ editability }) => editability === 'editable',
        warning: 'The agent stops at once and is removed. This cannot be undone.',
        isDanger: true,
        removes: true,
      },
    ],
    parts: [
      {
        title: 'Runs',
        list: 'list_agent_runs',
        columns: ['created_at', 'trigger_type', 'status', 'duration_ms', 'error_message'],
        shownIn: 'runs',
      },
      {
        title: 'Times of the schedule',
        list: 'list_agent_occurrences',
        columns: ['due_at', 'outcome', 'reason'],
      },
    ],
    More: AgentTrial,
  },
  {
    slug: 'runs',
    title: 'Runs of agents',
    one: 'run',
    about: 'What agents did, step by step, what it cost, and what failed.',
    list: 'list_runs',
    get: 'get_agent_run',
    include: {
      list: ['definition', 'triggered_by'],
      get: ['definition', 'triggered_by', 'steps', 'actions'],
    },
    columns: ['created_at', 'definition', 'status', 'duration_ms', 'error_message'],
    omit: ['steps', 'actions', 'agent_id', 'triggered_by_id'],
    actions: [
      {
        label: 'Stop',
        operation: 'cancel_agent_run',
        when: isStatus('pending', 'running', 'awaiting_input', 'awaiting_approval'),
        warning: 'The agent stops where it is.',
        isDanger: true,
      },
    ],
    parts: [
      {
        title: 'Steps',
        field: 'steps',
        columns: [
          ...['position', 'status', 'model', 'text', 'input_tokens', 'output_tokens', 'cost_usd'],
          'error_message',
        ],
      },
      {
        title: 'Calls of tools',
        field: 'actions',
        columns: ['tool', 'status', 'arguments', 'result', 'error_message'],
      },
    ],
    More: RunTotals,
  },
  {
    slug: 'tools',
    title: 'Tools',
    one: 'tool',
    about: 'What agents can be given.',
    list: 'list_tools',
    columns: ['name', 'slug', 'description', 'category', 'mutating'],
  },
];

const CHANNELS: readonly Section[] = [
  {
    slug: 'inboxes',
    title: 'Mail inboxes',
    one: 'inbox',
    about: 'Addresses whose mail becomes cases.',
    list: 'list_inboxes',
    get: 'get_inbox',
    create: 'create_inbox',
    update: 'update_inbox',
    columns: ['name', 'address', 'created_at'],
    actions: [
      {
        label: 'Delete',
        operation: 'delete_inbox',
        warning: 'Mail to the address does not arrive any more.',
        isDanger: true,
        removes: true,
      },
    ],
  },
  {
    slug: 'widgets',
    title: 'Widgets',
    one: 'widget',
    about: 'Chats that pages of your sites embed.',
    list: 'list_widgets',
    get: 'get_widget',
    create: 'create_widget',
    update: 'update_widget',
    columns: ['name', 'sites', 'enabled', 'created_at'],
    actions: [
      {
        label: 'Delete',
        operation: 'delete_widget',
        warning: 'Pages that embed the widget do not show it any more.',
        isDanger: true,
        removes: true,
      },
    ],
    More: WidgetSnippet,
  },
  {
    slug: 'webhooks',
    title: 'Webhooks',
    one: 'webhook',
    about: 'Where events are sent to, and how that went.',
    list: 'list_webhooks',
    get: 'get_webhook',
    create: 'create_webhook',
    update: 'update_webhook',
    columns: ['url', 'event_types', 'status', 'last_success_at'],
    secret: 'secret',
    actions: [
      { label: 'Send a test', operation: 'test_webhook' },
      {
        label: 'Rotate secret',
        operation: 'rotate_webhook_secret',
        warning: 'A new secret signs what is sent; the one before counts for a while beside it.',
        secret: 'secret',
      },
      {
        label: 'Replay',
        operation: 'replay_webhook',
        warning: 'All events since then are sent again.',
      },
      {
        label: 'Delete',
        operation: 'delete_webhook',
        warning: 'Nothing more is sent. This cannot be undone.',
        isDanger: true,
        removes: true,
      },
    ],
    parts: [
      {
        title: 'Deliveries',
        list: 'list_webhook_deliveries',
        columns: ['event_type', 'status', 'attempts', 'last_status_code', 'last_error', 'created_at'],
        actions: [
          {
            label: 'Redeliver',
            operation: 'redeliver_webhook_delivery',
            when: isStatus('delivered', 'failed'),
          },
        ],
      },
    ],
  },
];

const DATA: readonly Section[] = [
  {
    slug: 'imports',
    title: 'Imports',
    one: 'import',
    about: 'Archives of other services, and what became of them.',
    list: 'list_imports',
    get: 'get_import',
    create: 'create_import',
    columns: ['source', 'status', 'progress.done', 'created_at'],
    omit: ['parts', 'counts'],
    New: NewImport,
    More: ImportReport,
    actions: [
      {
        label: 'Cancel',
        operation: 'cancel_import',
        when: isStatus('awaiting_upload', 'queued', 'running'),
        warning: 'The import stops. What it has made stays.',
        isDanger: true,
      },
    ],
    parts: [
      {
        title: 'Remarks',
        list: 'list_import_remarks',
        columns: ['type', 'reason', 'count', 'detail', 'place'],
      },
    ],
  },
  {
    slug: 'exports',
    title: 'Exports',
    one: 'export',
    about: 'What is kept of a person or a conversation, as a signed archive.',
    list: 'list_exports',
    get: 'get_export',
    columns: ['subject_type', 'subject_id', 'status', 'created_at', 'expires_at'],
    omit: ['url'],
    begins: [
      { label: 'Export a person', operation: 'create_user_export', shownIn: 'exports' },
      { label: 'Export a conversation', operation: 'create_conversation_export', shownIn: 'exports' },
    ],
    More: ExportFile,
  },
  {
    slug: 'erasures',
    title: 'Erasures',
    one: 'erasure',
    about: 'Persons that were removed for good.',
    list: 'list_erasures',
    get: 'get_erasure',
    columns: ['user_id', 'messages', 'status', 'created_at'],
  },
  {
    slug: 'retention',
    title: 'Retention',
    one: 'policy',
    about: 'After how many days things are purged. Empty: they are kept.',
    get: 'get_retention_policy',
    update: 'set_retention_policy',
    meaningOf: retentionMeaning,
    columns: [],
  },
  {
    slug: 'audit',
    title: 'Audit',
    one: 'event',
    about: 'What was done by whom, in a chain whose changes are noticed.',
    list: 'list_account_audit',
    columns: ['action', 'actor', 'created_at', 'conversation_id', 'details'],
    Above: AuditHead,
  },
  {
    slug: 'account',
    title: 'Account',
    one: 'account',
    about: 'Name and plan of this account.',
    get: 'get_account',
    columns: [],
  },
];

export const SECTION_GROUPS: readonly SectionGroup[] = [
  { title: 'People', sections: PEOPLE },
  { title: 'Access', sections: ACCESS },
  { title: 'Agents', sections: AGENTS },
  { title: 'Channels', sections: CHANNELS },
  { title: 'Data', sections: DATA },
];

/** The tools of an agent are named differently in its body. */
function agentBody({ config, ...agent }: Item): object {
  const { tools, ...rest } = (config ?? {}) as { readonly tools?: readonly AgentTool[] | null };
  return {
    ...agent,
    config: {
      ...rest,
      tools: tools?.map(({ tool, config, sort_order, review_requirement }) => ({
        ...{ tool: tool.slug, sort_order, require_review: review_requirement === 'required' },
        ...(config !== null && { config_json: JSON.stringify(config) }),
      })),
    },
  };
}

interface AgentTool {
  readonly tool: { readonly slug: string };
  readonly config: object | null;
  readonly sort_order: number;
  readonly review_requirement: string;
}
