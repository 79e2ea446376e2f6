/** A chapter of the document; `paths` selects its endpoints. */
interface Chapter {
  readonly name: string;
  readonly description: string;
  readonly paths: RegExp;
  /** Its endpoints are among those of other chapters, so its pattern is tried before theirs. */
  readonly isPart?: true;
}

/** In the reading order for newcomers. */
const CHAPTERS: readonly Chapter[] = [
  {
    name: 'Messages',
    description: 'What is said in conversations: sent at once, scheduled, or proposed as a draft.',
    paths: /^\/v1\/messaging\/(?:messages|alerts|conversations\/:id\/messages)/,
  },
  {
    name: 'Conversations',
    description: 'Direct messages, groups, and support cases with customers.',
    paths: /^\/v1\/messaging\/conversations/,
  },
  {
    name: 'Participants',
    description: 'Who is in a conversation, and in which role.',
    paths: /^\/v1\/messaging\/conversations\/:id\/participants/,
    isPart: true,
  },
  {
    name: 'Access',
    description: 'The account, its roles, users, API keys and tokens.',
    paths: /^\/v1\/(?:account|registrations|roles|users|api-keys|auth)(?:\/|$)/,
  },
  {
    name: 'Attachments',
    description: 'Files for messages, uploaded beside the API.',
    paths: /^\/v1\/messaging\/attachments/,
  },
  {
    name: 'Notifications',
    description: "The caller's own feed, and its settings.",
    paths: /^\/v1\/messaging\/(?:notification|push-subscription)/,
  },
  {
    name: 'Groups and entities',
    description: 'Rosters that conversations start from, and resources that they are about.',
    paths: /^\/v1\/(?:messaging\/groups|entities)/,
  },
  {
    name: 'Agents',
    description: 'Automated agents, their tools, and their runs.',
    paths: /^\/v1\/ai\//,
  },
  {
    name: 'Events',
    description: 'What happens in your own applications, and what Parley is to do about it.',
    paths: /^\/v1\/events(?:\/|$)/,
  },
  {
    name: 'Webhooks',
    description: 'Events of the account, sent to a URL of yours.',
    paths: /^\/v1\/webhooks(?:\/|$)/,
  },
  {
    name: 'Realtime',
    description: 'What live sockets need of REST.',
    paths: /^\/v1\/realtime/,
  },
  {
    name: 'Mail',
    description: 'Inboxes, and the mails of cases.',
    paths: /^\/v1\/(?:mail\/|messaging\/inboxes)|\/:id\/(?:email|actions\/resend)$/,
    isPart: true,
  },
  {
    name: 'Compliance',
    description: 'What is kept and what goes: exports, and the erasure of persons.',
    paths: /^\/v1\/(?:exports|erasures)(?:\/|$)|\/(?:exports|actions\/erase)$/,
    isPart: true,
  },
  {
    name: 'Settings',
    description: 'What else an account sets up.',
    paths: /^/,
  },
];

/** The first match counts. */
const MATCHED = [...CHAPTERS.filter(({ isPart }) => isPart), ...CHAPTERS.filter(({ isPart }) => !isPart)];

/** `path` has `:name` for parameters. */
export function tagOf(path: string): string {
  return MATCHED.find(({ paths }) => paths.test(path))!.name;
}

/** Returns the chapters of these paths, as OpenAPI declares them. */
export function tagsOf(paths: readonly string[]): { readonly name: string; readonly description: string }[] {
  const used = new Set(paths.map(tagOf));
  return CHAPTERS.filter(({ name }) => used.has(name)).map(({ name, description }) => ({
    name,
    description,
  }));
}
