import type { ComponentChildren } from 'preact';
import { uiTexts } from '../texts/ui-texts.ts';

export interface Column<Row> {
  readonly name: string;
  readonly label: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Whether it is a column of numbers, which stand at the end of their cells. */
  readonly isNumber?: boolean;
}

export interface TableProps<Row> {
  /** Says what the table lists. */
  readonly caption: string;
  /** The most important column first. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row, index: number) => string;
  /** Buttons at the end of a row. */
  readonly actions?: ((row: Row) => ComponentChildren) | undefined;
}

/** A table whose rows are named by their first cells. */
export function Table<Row>({ caption, columns, rows, keyOf, actions }: TableProps<Row>) {
  return (
    <section class="table-frame" aria-label={caption} tabIndex={0}>
      <table class="table">
        <caption class="hidden-visually">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name, label, isNumber }) => (
              <th key={name} scope="col" class={isNumber ? 'table-number' : undefined}>
                {label}
              </th>
            ))}
            {actions && (
              <th scope="col" class="table-actions">
                <span class="hidden-visually">{uiTexts.data.actions}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)}>
              {columns.map(({ name, label, cell, isNumber }, column) =>
                column === 0 ? (
                  <th key={name} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={name} data-column={label} class={isNumber ? 'table-number' : undefined}>
                    {cell(row)}
                  </td>
                ),
              )}
              {actions && <td class="table-actions">{actions(row)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
