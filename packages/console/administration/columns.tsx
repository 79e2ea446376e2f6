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
      const content = <Value schema={part} value={value} resolve={resolve} />;
      return index === 0 ? wrap(content, row) : content;
    };
    return { name: path, label: labelOf(steps[0]!), cell };
  });
}
