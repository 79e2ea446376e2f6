import { readTexts } from './texts.ts';

/** A chapter of the document; `paths` selects its endpoints. Its description is in tags.md. */
interface Chapter {
  readonly name: string;
  readonly paths: RegExp;
  /** Its pattern is tried first, since its endpoints are among those of other chapters. */
  readonly isPart?: true;
}

/** In the reading order for newcomers. */
const CHAPTERS: readonly Chapter[] = [
  { name: 'Messages', paths: /^\/v1\/messaging\/(?:messages|alerts|conversations\/:id\/messages)/ },
  { name: 'Conversations', paths: /^\/v1\/messaging\/conversations/ },
  { name: 'Participants', paths: /^\/v1\/messaging\/conversations\/:id\/participants/, isPart: true },
  {
    name: 'Access',
    paths:
      /^\/v1\/(?:account|registrations|roles|users|customers|api-keys|auth|identity-providers|push-apps)(?:\/|$)/,
  },
  { name: 'Attachments', paths: /^\/v1\/messaging\/attachments/ },
  { name: 'Notifications', paths: /^\/v1\/messaging\/(?:notification|push-subscription|push-device)/ },
  { name: 'Groups and entities', paths: /^\/v1\/(?:messaging\/groups|groups|entities)/ },
  { name: 'Agents', paths: /^\/v1\/ai\// },
  { name: 'Events', paths: /^\/v1\/events(?:\/|$)/ },
  { name: 'Webhooks', paths: /^\/v1\/webhooks(?:\/|$)/ },
  { name: 'Widgets', paths: /^\/v1\/widgets(?:\/|$)/ },
  { name: 'Realtime', paths: /^\/v1\/realtime/ },
  {
    name: 'Mail',
    paths: /^\/v1\/(?:mail\/|messaging\/(?:inboxes|email-complaints))|\/:id\/(?:email|actions\/resend)$/,
    isPart: true,
  },
  {
    name: 'Compliance',
    paths: /^\/v1\/(?:exports|erasures|imports)(?:\/|$)|\/(?:exports|actions\/erase)$/,
    isPart: true,
  },
  { name: 'Installation', paths: /^\/v1\/installation(?:\/|$)/ },
  { name: 'Settings', paths: /^/ },
];

const DESCRIPTIONS = readTexts('tags.md');

/** The first match counts. */
const MATCHED = [...CHAPTERS.filter(({ isPart }) => isPart), ...CHAPTERS.filter(({ isPart }) => !isPart)];

/** Returns the chapter of a path, which has `:name` for parameters. */
export function tagOf(path: string): string {
  return MATCHED.find(({ paths }) => paths.test(path))!.name;
}

/** Returns the chapters of these paths, as OpenAPI declares them. */
export function tagsOf(paths: readonly string[]): { readonly name: string; readonly description: string }[] {
  const used = new Set(paths.map(tagOf));
  return CHAPTERS.filter(({ name }) => used.has(name)).map(({ name }) => ({
    name,
    description: DESCRIPTIONS.get(name)!,
  }));
}
