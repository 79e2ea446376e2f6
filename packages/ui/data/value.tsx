import { Fragment } from 'preact';
import type { JsonSchema, Resolve } from '../form/json-schema.ts';
import { withoutNull } from '../form/json-schema.ts';
import { labelOf, sentenceOf } from '../form/labels.ts';
import { costText, countText, durationText } from '../text/amounts.ts';
import { fullTimeOf, shortTimeOf } from '../text/time.ts';
import { uiTexts } from '../texts/ui-texts.ts';
import { useValueLook } from './value-context.ts';

export interface ValueProps {
  /** The name of its field, whose ending says a unit. */
  readonly name?: string;
  readonly schema: JsonSchema;
  readonly value: unknown;
  readonly resolve: Resolve;
}

/** A value of the contract on one line, as its schema says. */
export function Value({ name = '', schema, value, resolve }: ValueProps) {
  const { schema: one } = withoutNull(schema, resolve);
  const { ofId } = useValueLook();
  if (value === null || value === undefined || value === '') return <span class="value-none">–</span>;
  if (typeof value === 'boolean') return <>{value ? uiTexts.data.yes : uiTexts.data.no}</>;
  if (typeof value === 'string') return <TextValue schema={one} text={value} />;
  if (typeof value === 'number') return <>{numberText(name, value)}</>;
  if (typeof value !== 'object') return <>{String(value)}</>;
  if (Array.isArray(value)) {
    return (
      <>
        {value.map((one, index) => (
          <Fragment key={index}>
            {index > 0 && ', '}
            {(typeof one === 'string' && ofId(one)) || nameOf(one)}
          </Fragment>
        ))}
      </>
    );
  }
  const text = nameOf(value);
  if (text.startsWith('{')) return <Pairs value={value as Readonly<Record<string, unknown>>} />;
  return <>{text}</>;
}

/** The fields of an object without a name, on one line. */
function Pairs({ value }: { readonly value: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(value).filter(([, one]) => one !== null && one !== '');
  if (entries.length === 0) return <span class="value-none">–</span>;
  return (
    <span class="value-pairs">
      {entries.map(([name, one]) => (
        <span key={name}>
          <span class="value-pair-name">{labelOf(name)}</span>{' '}
          <Value name={name} schema={{}} value={one} resolve={() => ({})} />
        </span>
      ))}
    </span>
  );
}

/** Returns a number with its unit, as the name of its field says it. */
function numberText(name: string, value: number): string {
  if (name.endsWith('_ms')) return durationText(value);
  if (name.endsWith('_usd')) return costText(value);
  if (name.endsWith('_bytes')) return `${countText(Math.ceil(value / 1024))} KB`;
  return countText(value);
}

function TextValue({ schema, text }: { readonly schema: JsonSchema; readonly text: string }) {
  const known = useValueLook().ofId(text);
  if (known !== undefined) return <>{known}</>;
  if (schema.format === 'date-time') {
    return (
      <time dateTime={text} title={fullTimeOf(text)}>
        {shortTimeOf(text)}
      </time>
    );
  }
  if (schema.enum !== undefined)
    return <span class={`tag ${toneOf(text)}`}>{sentenceOf(text.replaceAll('.', ' '))}</span>;
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
