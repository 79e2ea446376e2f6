import { isExactNumber } from '@parley/protocol/json/exact-json.ts';

/** The fields of a resource that can contain the text of a message, and their values without it. */
const CONTENT: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  chat_message: { body: null, subject: null, cc: null, attachments: [], resource: null, metadata: {} },
  notification: { body: null },
  email: { subject: null, text: null, html: null, source_url: null, recipients: [] },
  agent_run: { input: null, output: null, error_message: null, steps: [], actions: [] },
};

/** Returns the JSON value without the content of the resources with these ids, at any depth. */
export function withoutContent(value: unknown, ids: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutContent(item, ids));
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value;
  const { id, object } = value as { readonly id?: unknown; readonly object?: unknown };
  const content = typeof id === 'string' && ids.has(id) ? CONTENT[String(object)] : undefined;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      const isRemoved = content !== undefined && name in content && field !== null;
      return [name, isRemoved ? content[name] : withoutContent(field, ids)];
    }),
  );
}
