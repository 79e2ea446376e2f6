import { Table } from '@parley/ui/data/table.tsx';
import type { JsonSchema } from '@parley/ui/form/json-schema.ts';
import { withoutNull } from '@parley/ui/form/json-schema.ts';
import { columnsOf } from './columns.tsx';
import { ResourceList } from './resource-list.tsx';
import type { Item, Part } from './section.ts';
import { useAdministration } from './use-administration.ts';

export interface PartViewProps {
  readonly part: Part;
  readonly item: Item;
  readonly schema: JsonSchema;
}

/** A list that belongs to one resource. */
export function PartView({ part, item, schema }: PartViewProps) {
  const { api, offered } = useAdministration();
  if ('list' in part) {
    const operation = offered(part.list);
    if (operation === undefined) return null;
    return (
      <section class="administration-part">
        <h2>{part.title}</h2>
        <ResourceList
          caption={part.title}
          operation={operation}
          ids={[item.id]}
          columns={part.columns}
          shownIn={part.shownIn}
          actions={part.actions}
          hasFilters
        />
      </section>
    );
  }
  const rows = item[part.field] as readonly Item[] | null | undefined;
  if (rows === null || rows === undefined || rows.length === 0) return null;
  const { schema: one } = withoutNull(schema, api.resolve);
  const items = withoutNull(one.properties?.[part.field] ?? {}, api.resolve).schema.items ?? {};
  return (
    <section class="administration-part">
      <h2>{part.title}</h2>
      <Table
        caption={part.title}
        columns={columnsOf(part.columns, items, api.resolve)}
        rows={rows}
        keyOf={({ id }, index) => id ?? String(index)}
      />
    </section>
  );
}
