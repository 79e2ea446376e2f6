import { hasWords } from '@parley/protocol/folding.ts';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { Settings } from 'lucide';
import { Administration } from './administration/administration.tsx';
import { readApiDocument } from './administration/api-document.ts';
import { AuditHead } from './administration/parts/audit-head.tsx';
import { CustomerCases } from './administration/parts/customer-cases.tsx';
import { GroupCases } from './administration/parts/group-cases.tsx';
import { dateOf, invite } from './administration/parts/invite.ts';
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
import { IDENTITY_SECTIONS } from './identity/sections.ts';
import { IMPORT_SECTIONS } from './import/sections.ts';
import { go } from './nav/place.ts';
import { PUSH_SECTIONS } from './push/sections.ts';
import type { PaletteItem } from './search/palette-items.tsx';
import { texts } from './texts/texts.ts';
import { WEBHOOK_SECTIONS } from './webhooks/sections.ts';
import { WIDGET_SECTIONS } from './widgets/sections.ts';

const words = texts.sections;

const SESSION_COLUMNS = ['created_at', 'last_used_at', 'expires_at'];

const PEOPLE: readonly Section[] = [
  {
    slug: 'people',
    texts: PERSON_TEXTS,
    title: words.people.title,
    one: words.people.one,
    about: words.people.about,
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
        label: words.people.mailInvitation,
        operation: 'mail_invitation',
        when: isStatus('active'),
        doneText: ({ email, expires_at }) =>
          words.people.invitationMailed(String(email), dateOf(String(expires_at))),
      },
      {
        label: words.people.linkInvitation,
        operation: 'create_invitation',
        when: isStatus('active'),
        secret: 'url',
        doneText: ({ expires_at }) => words.people.invitationLinked(dateOf(String(expires_at))),
      },
      {
        label: words.people.deactivate,
        operation: 'deactivate_user',
        when: isStatus('active'),
        warning: words.people.deactivateWarning,
        isDanger: true,
      },
      { label: words.people.activate, operation: 'activate_user', when: isStatus('deactivated') },
      {
        label: words.people.claim,
        operation: 'claim_user',
        texts: CLAIM_TEXTS,
        when: ({ placeholder }) => placeholder === true,
      },
      { label: words.people.export, operation: 'create_user_export', shownIn: 'exports' },
      {
        label: words.people.erase,
        operation: 'erase_user',
        texts: ERASE_TEXTS,
        shownIn: 'erasures',
        warning: words.people.eraseWarning,
        isDanger: true,
      },
      {
        label: words.people.endSessions,
        operation: 'end_every_session',
        warning: words.people.endSessionsWarning,
        isDanger: true,
      },
    ],
    parts: [
      {
        title: words.people.sessions,
        list: 'list_user_sessions',
        columns: SESSION_COLUMNS,
        actions: [
          {
            label: words.people.endSession,
            operation: 'end_user_session',
            warning: words.people.endSessionWarning,
          },
        ],
      },
    ],
  },
  {
    slug: 'roles',
    texts: ROLE_TEXTS,
    title: words.roles.title,
    one: words.roles.one,
    about: words.roles.about,
    list: 'list_roles',
    get: 'get_role',
    create: 'create_role',
    update: 'update_role',
    include: { get: ['permissions'] },
    columns: ['name', 'type', 'created_at'],
    omit: ['permissions', 'owner'],
    actions: [
      {
        label: words.delete,
        operation: 'delete_role',
        warning: words.roles.deleteWarning,
        isDanger: true,
        removes: true,
      },
    ],
    More: RolePermissions,
  },
  {
    slug: 'groups',
    texts: GROUP_TEXTS,
    title: words.teams.title,
    one: words.teams.one,
    about: words.teams.about,
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
        label: words.delete,
        operation: 'delete_group',
        warning: words.teams.deleteWarning,
        isDanger: true,
        removes: true,
      },
    ],
    More: GroupCases,
    parts: [{ title: words.teams.members, field: 'members', columns: ['name', 'type'] }],
  },
  {
    slug: 'customers',
    texts: CUSTOMER_TEXTS,
    title: words.customers.title,
    one: words.customers.one,
    about: words.customers.about,
    list: 'list_customers',
    get: 'get_customer',
    update: 'update_customer',
    columns: ['name', 'email', 'status', 'created_at'],
    omit: ['id', 'avatar_url'],
    More: CustomerCases,
    actions: [
      {
        label: words.customers.block,
        operation: 'block_actor',
        when: ({ blocked }) => blocked === false,
        warning: words.customers.blockWarning,
        isDanger: true,
      },
      { label: words.customers.unblock, operation: 'unblock_actor', when: ({ blocked }) => blocked === true },
    ],
  },
];

const ACCESS: readonly Section[] = [
  {
    slug: 'api-keys',
    texts: KEY_TEXTS,
    title: words.keys.title,
    one: words.keys.one,
    about: words.keys.about,
    list: 'list_api_keys',
    get: 'get_api_key',
    create: 'create_api_key',
    include: { list: ['role'], get: ['role'] },
    columns: ['name', 'redacted', 'role', 'status', 'expires_at'],
    omit: ['role_id'],
    secret: 'key',
    actions: [
      {
        label: words.keys.rotate,
        operation: 'rotate_api_key',
        when: isStatus('active'),
        warning: words.keys.rotateWarning,
        secret: 'key',
        shownIn: 'api-keys',
      },
      {
        label: words.keys.revoke,
        operation: 'revoke_api_key',
        when: isStatus('active'),
        warning: words.keys.revokeWarning,
        isDanger: true,
      },
    ],
  },
];

const CHANNELS: readonly Section[] = [
  {
    slug: 'inboxes',
    texts: INBOX_TEXTS,
    title: words.inboxes.title,
    one: words.inboxes.one,
    about: words.inboxes.about,
    list: 'list_inboxes',
    get: 'get_inbox',
    create: 'create_inbox',
    update: 'update_inbox',
    columns: ['name', 'address', 'created_at'],
    actions: [
      {
        label: words.delete,
        operation: 'delete_inbox',
        warning: words.inboxes.deleteWarning,
        isDanger: true,
        removes: true,
      },
    ],
  },
  {
    slug: 'complaints',
    texts: {},
    title: words.complaints.title,
    one: words.complaints.one,
    about: words.complaints.about,
    list: 'list_email_complaints',
    get: 'get_email_complaint',
    columns: ['address', 'kind', 'created_at'],
    actions: [
      {
        label: words.complaints.lift,
        operation: 'delete_email_complaint',
        warning: words.complaints.liftWarning,
        removes: true,
      },
    ],
  },
];

const DATA: readonly Section[] = [
  {
    slug: 'audit',
    texts: {},
    title: words.audit.title,
    one: words.audit.one,
    about: words.audit.about,
    list: 'list_account_audit',
    columns: ['created_at', 'action', 'actor', 'conversation_id', 'details'],
    Above: AuditHead,
  },
  {
    slug: 'account',
    texts: ACCOUNT_TEXTS,
    title: words.account.title,
    one: words.account.one,
    about: words.account.about,
    get: 'get_account',
    update: 'update_account',
    columns: [],
  },
];

/** The sections of a feature are its folder, its import and its entry. */
export const SECTION_GROUPS: readonly SectionGroup[] = [
  { title: words.groups.people, sections: PEOPLE },
  {
    title: words.groups.access,
    sections: [
      ...ACCESS, // One entry a line.
      ...IDENTITY_SECTIONS,
    ],
  },
  {
    title: words.groups.agents,
    sections: [
      ...AGENT_SECTIONS, // One entry a line.
    ],
  },
  {
    title: words.groups.channels,
    sections: [
      ...CHANNELS, // One entry a line.
      ...WIDGET_SECTIONS,
      ...PUSH_SECTIONS,
      ...WEBHOOK_SECTIONS,
      ...CUSTOMER_CARD_SECTIONS,
    ],
  },
  {
    title: words.groups.data,
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
export async function findSections(asked: string): Promise<PaletteItem[]> {
  const found = SECTION_GROUPS.flatMap(({ sections }) => sections).filter(({ title, one }) =>
    hasWords(`${title} ${words.newWord} ${one}`, asked),
  );
  if (found.length === 0) return [];
  const api = await readApiDocument();
  return found.flatMap(({ slug, title, one, list, get, create }) => {
    if (api.operation(list ?? get ?? '') === undefined) return [];
    const item = (name: string, id?: string): PaletteItem => ({
      id: `section-${slug}-${id ?? ''}`,
      name,
      group: words.administration,
      picture: <Icon of={Settings} />,
      act: () => go({ main: { at: 'administration', section: slug, ...(id !== undefined && { id }) } }),
    });
    const isMade = create !== undefined && api.operation(create) !== undefined;
    return [item(title), ...(isMade ? [item(words.newOne(one), 'new')] : [])];
  });
}
