import { hasWords } from '@parley/protocol/folding.ts';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { Settings } from 'lucide';
import { Administration } from './administration/administration.tsx';
import { readApiDocument } from './administration/api-document.ts';
import { AuditHead } from './administration/parts/audit-head.tsx';
import { CustomerCases } from './administration/parts/customer-cases.tsx';
import { GroupCases } from './administration/parts/group-cases.tsx';
import { RolePermissions } from './administration/parts/role-permissions.tsx';
import { type Item, isStatus, type Section, type SectionGroup } from './administration/section.ts';
import { INBOX_TEXTS } from './administration/texts/channel-texts.ts';
import { ACCOUNT_TEXTS } from './administration/texts/data-texts.ts';
import {
  CLAIM_TEXTS,
  CUSTOMER_TEXTS,
  ERASE_TEXTS,
  GROUP_TEXTS,
  KEY_TEXTS,
  PERSON_TEXTS,
  ROLE_TEXTS,
} from './administration/texts/people-texts.ts';
import { AGENT_SECTIONS } from './agents/sections.ts';
import { COMPLIANCE_SECTIONS } from './compliance/sections.ts';
import { CUSTOMER_CARD_SECTIONS } from './customer-cards/sections.ts';
import { dateOf, invite } from './identity/invite.ts';
import { IDENTITY_SECTIONS } from './identity/sections.ts';
import { IMPORT_SECTIONS } from './import/sections.ts';
import { go } from './nav/place.ts';
import type { PaletteItem } from './search/palette-items.tsx';
import { WEBHOOK_SECTIONS } from './webhooks/sections.ts';
import { WIDGET_SECTIONS } from './widgets/sections.ts';

const SESSION_COLUMNS = ['created_at', 'last_used_at', 'expires_at'];

const PEOPLE: readonly Section[] = [
  {
    slug: 'people',
    texts: PERSON_TEXTS,
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
    afterMade: invite,
    actions: [
      {
        label: 'Mail an invitation',
        operation: 'mail_invitation',
        when: isStatus('active'),
        doneText: ({ email, expires_at }) =>
          `The invitation is on its way to ${email}. It ends on ${dateOf(String(expires_at))}.`,
      },
      {
        label: 'Invitation as a link',
        operation: 'create_invitation',
        when: isStatus('active'),
        secret: 'url',
        doneText: ({ expires_at }) =>
          `Give the link to the person. It signs in once, and ends on ${dateOf(String(expires_at))}.`,
      },
      {
        label: 'Deactivate',
        operation: 'deactivate_user',
        when: isStatus('active'),
        warning: 'The person is signed out everywhere and cannot sign in until activated again.',
        isDanger: true,
      },
      { label: 'Activate', operation: 'activate_user', when: isStatus('deactivated') },
      {
        label: 'Claim',
        operation: 'claim_user',
        texts: CLAIM_TEXTS,
        when: ({ placeholder }) => placeholder === true,
      },
      { label: 'Export', operation: 'create_user_export', shownIn: 'exports' },
      {
        label: 'Erase',
        operation: 'erase_user',
        texts: ERASE_TEXTS,
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
    texts: ROLE_TEXTS,
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
    texts: GROUP_TEXTS,
    title: 'Groups',
    one: 'group',
    about: 'Teams that cases reach and are assigned to, and under whose name customers are answered.',
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
    More: GroupCases,
    parts: [{ title: 'Members', field: 'members', columns: ['name', 'type'] }],
  },
  {
    slug: 'customers',
    texts: CUSTOMER_TEXTS,
    title: 'Customers',
    one: 'customer',
    about: 'People outside of the account who write to it.',
    list: 'list_customers',
    get: 'get_customer',
    update: 'update_customer',
    columns: ['name', 'email', 'status', 'created_at'],
    omit: ['id', 'avatar_url'],
    More: CustomerCases,
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
    texts: KEY_TEXTS,
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
];

const CHANNELS: readonly Section[] = [
  {
    slug: 'inboxes',
    texts: INBOX_TEXTS,
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
    slug: 'complaints',
    texts: {},
    title: 'Mail complaints',
    one: 'complaint',
    about: 'Addresses whose owners have called a mail spam. No reply is sent to them.',
    list: 'list_email_complaints',
    get: 'get_email_complaint',
    columns: ['address', 'kind', 'created_at'],
    actions: [
      {
        label: 'Lift',
        operation: 'delete_email_complaint',
        warning: 'Replies are sent to the address again. Do it only if the person has asked for it.',
        removes: true,
      },
    ],
  },
];

const DATA: readonly Section[] = [
  {
    slug: 'audit',
    texts: {},
    title: 'Audit',
    one: 'event',
    about: 'What was done by whom, in a chain whose changes are noticed.',
    list: 'list_account_audit',
    columns: ['created_at', 'action', 'actor', 'conversation_id', 'details'],
    Above: AuditHead,
  },
  {
    slug: 'account',
    texts: ACCOUNT_TEXTS,
    title: 'Account',
    one: 'account',
    about: 'Name, plan and settings of this account.',
    get: 'get_account',
    update: 'update_account',
    columns: [],
  },
];

/** The sections of a feature are its folder, its import and its entry. */
export const SECTION_GROUPS: readonly SectionGroup[] = [
  { title: 'People', sections: PEOPLE },
  {
    title: 'Access',
    sections: [
      ...ACCESS, // One entry a line.
      ...IDENTITY_SECTIONS,
    ],
  },
  {
    title: 'Agents',
    sections: [
      ...AGENT_SECTIONS, // One entry a line.
    ],
  },
  {
    title: 'Channels',
    sections: [
      ...CHANNELS, // One entry a line.
      ...WIDGET_SECTIONS,
      ...WEBHOOK_SECTIONS,
      ...CUSTOMER_CARD_SECTIONS,
    ],
  },
  {
    title: 'Data',
    sections: [
      ...IMPORT_SECTIONS, // One entry a line.
      ...COMPLIANCE_SECTIONS,
      ...DATA,
    ],
  },
];

export function AdministrationPage() {
  return <Administration groups={SECTION_GROUPS} />;
}

/** Returns the sections that have the words, and the forms for something new of them. */
export async function findSections(words: string): Promise<PaletteItem[]> {
  const found = SECTION_GROUPS.flatMap(({ sections }) => sections).filter(({ title, one }) =>
    hasWords(`${title} new ${one}`, words),
  );
  if (found.length === 0) return [];
  const api = await readApiDocument();
  return found.flatMap(({ slug, title, one, list, get, create }) => {
    if (api.operation(list ?? get ?? '') === undefined) return [];
    const item = (name: string, id?: string): PaletteItem => ({
      id: `section-${slug}-${id ?? ''}`,
      name,
      group: 'Administration',
      picture: <Icon of={Settings} />,
      act: () => go({ main: { at: 'administration', section: slug, ...(id !== undefined && { id }) } }),
    });
    const isMade = create !== undefined && api.operation(create) !== undefined;
    return [item(title), ...(isMade ? [item(`New ${one}`, 'new')] : [])];
  });
}
