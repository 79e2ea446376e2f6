import type { JsonSchema, Resolve } from '../form/json-schema.ts';
import { withoutNull } from '../form/json-schema.ts';
import { labelOf } from '../form/labels.ts';
import { uiTexts } from '../texts/ui-texts.ts';
import { Json } from './json.tsx';
import { Table } from './table.tsx';
import { Value } from './value.tsx';
import { useValueLook } from './value-context.ts';

export interface FactsProps {
  readonly schema: JsonSchema;
  readonly value: Readonly<Record<string, unknown>>;
  readonly resolve: Resolve;
  /** Fields that are shown elsewhere. */
  readonly omit?: readonly string[];
}

/** The fields of an object with their names, as its schema says, without empty fields. */
export function Facts({ schema, value, resolve, omit = [] }: FactsProps) {
  const { schema: one } = withoutNull(schema, resolve);
  const look = useValueLook();
  const fields = Object.entries(value).filter(
    ([name, field]) => name !== 'object' && !omit.includes(name) && !isEmpty(field),
  );
  if (fields.length === 0) return <p class="value-none">{uiTexts.data.nothingSet}</p>;
  return (
    <dl class="facts">
      {fields.map(([name, field]) => (
        <div key={name} class="facts-row">
          <dt>{look.labelOf(name) ?? labelOf(name)}</dt>
          <dd>
            <Fact name={name} schema={one.properties?.[name] ?? {}} value={field} resolve={resolve} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface FactProps {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly value: unknown;
  readonly resolve: Resolve;
}

function Fact({ name, schema, value, resolve }: FactProps) {
  const { ofId } = useValueLook();
  const { schema: one } = withoutNull(schema, resolve);
  if (isRecord(value)) {
    if (typeof value.name === 'string') return <>{value.name}</>;
    return one.properties === undefined && Object.values(value).some((part) => typeof part === 'object') ? (
      <Json value={value} label={labelOf(name)} />
    ) : (
      <Facts schema={one} value={value} resolve={resolve} />
    );
  }
  if (Array.isArray(value) && value.every((row) => isRecord(row) && typeof row.name !== 'string')) {
    return <Rows name={name} schema={one.items ?? {}} rows={value} resolve={resolve} />;
  }
  const known = typeof value === 'string' && name !== 'id' ? ofId(value) : undefined;
  if (known !== undefined) return <>{known}</>;
  if (typeof value === 'string' && /_id$|^id$|hash|signature|_key$/.test(name)) {
    return <code class="facts-code">{value}</code>;
  }
  if (typeof value === 'string' && value.includes('\n')) return <p class="facts-text">{value}</p>;
  return <Value name={name} schema={one} value={value} resolve={resolve} />;
}

interface RowsProps {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly resolve: Resolve;
}

function Rows({ name, schema, rows, resolve }: RowsProps) {
  const { schema: one } = withoutNull(schema, resolve);
  const columns = Object.keys(rows[0]!)
    .filter((column) => !OF_EVERY_RESOURCE.has(column))
    .map((column) => ({
      name: column,
      label: labelOf(column),
      cell: (row: (typeof rows)[number]) => (
        <Value name={column} schema={one.properties?.[column] ?? {}} value={row[column]} resolve={resolve} />
      ),
    }));
  return <Table caption={labelOf(name)} columns={columns} rows={rows} keyOf={(_, index) => String(index)} />;
}

const OF_EVERY_RESOURCE: ReadonlySet<string> = new Set(['object', 'id', 'created_at', 'updated_at']);

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === null || value === '' || (isRecord(value) && Object.values(value).every(isEmpty));
}
