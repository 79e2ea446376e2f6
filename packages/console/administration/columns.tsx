import type { Column } from '@parley/ui/data/table.tsx';
import { Value } from '@parley/ui/data/value.tsx';
import type { JsonSchema, Resolve } from '@parley/ui/form/json-schema.ts';
import { withoutNull } from '@parley/ui/form/json-schema.ts';
import { labelOf } from '@parley/ui/form/labels.ts';
import type { ComponentChildren } from 'preact';
import type { Item } from './section.ts';

/** Returns columns for paths of fields, such as `progress.done`. */
export function columnsOf(
  paths: readonly string[],
  schema: JsonSchema,
  resolve: Resolve,
  wrap: (content: ComponentChildren, row: Item) => ComponentChildren = (content) => content,
): Column<Item>[] {
  return paths.map((path, index) => {
    const steps = path.split('.');
    const part = steps.reduce((at: JsonSchema, step) => {
      return withoutNull(at, resolve).schema.properties?.[step] ?? {};
    }, schema);
    const cell = (row: Item) => {
      const value = steps.reduce<unknown>((at, step) => (at as Item | null)?.[step], row);
      const content = <Value name={steps.at(-1)!} schema={part} value={value} resolve={resolve} />;
      return index === 0 ? wrap(content, row) : content;
    };
    const types = [withoutNull(part, resolve).schema.type].flat();
    const isNumber = types.includes('integer') || types.includes('number') || /_usd$/.test(path);
    return { name: path, label: columnLabel(steps[0]!), cell, isNumber };
  });
}

/** Returns the name of a column: without the unit, which its values have. */
function columnLabel(name: string): string {
  return labelOf(name.replace(/_(ms|usd|bytes)$/, ''));
}
