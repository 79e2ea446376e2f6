import type { JsonSchema, Resolve } from '../form/json-schema.ts';
import { withoutNull } from '../form/json-schema.ts';
import { sentenceOf } from '../form/labels.ts';
import { fullTimeOf, shortTimeOf } from '../text/time.ts';

export interface ValueProps {
  readonly schema: JsonSchema;
  readonly value: unknown;
  readonly resolve: Resolve;
}

/** A value of the contract on one line, as its schema says. */
export function Value({ schema, value, resolve }: ValueProps) {
  const { schema: one } = withoutNull(schema, resolve);
  if (value === null || value === undefined || value === '') return <span class="value-none">–</span>;
  if (typeof value === 'boolean') return <>{value ? 'Yes' : 'No'}</>;
  if (typeof value === 'string') return <TextValue schema={one} text={value} />;
  if (typeof value !== 'object') return <>{String(value)}</>;
  if (Array.isArray(value)) return <>{value.map(nameOf).join(', ')}</>;
  const text = nameOf(value);
  if (text.startsWith('{')) return <code class="value-fields">{text}</code>;
  return <>{text}</>;
}

function TextValue({ schema, text }: { readonly schema: JsonSchema; readonly text: string }) {
  if (schema.format === 'date-time') {
    return (
      <time dateTime={text} title={fullTimeOf(text)}>
        {shortTimeOf(text)}
      </time>
    );
  }
  if (schema.enum !== undefined) return <span class={`tag ${toneOf(text)}`}>{sentenceOf(text)}</span>;
  return <>{text}</>;
}

/** Returns the text of an object on one line: its name, else its fields. */
function nameOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const { name, slug, email } = value as Readonly<Record<string, unknown>>;
  return String(name ?? slug ?? email ?? JSON.stringify(value));
}

function toneOf(state: string): string {
  if (GOOD.has(state)) return 'tag-good';
  return BAD.has(state) ? 'tag-bad' : '';
}

const GOOD: ReadonlySet<string> = new Set(['active', 'enabled', 'delivered', 'completed', 'complete']);
const BAD: ReadonlySet<string> = new Set([
  'deactivated',
  'inactive',
  'disabled',
  'failed',
  'bounced',
  'revoked',
  'expired',
  'rejected',
  'withdrawn',
  'canceled',
  'cancelled',
]);
