import type { List } from '@parley/protocol/lists.ts';
import { Table } from '@parley/ui/data/table.tsx';
import { Button } from '@parley/ui/elements/button.tsx';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { usePages } from '@parley/ui/hooks/pages.ts';
import { useMemo, useState } from 'preact/hooks';
import { Link } from '../nav/link.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { ActionButton } from './action-button.tsx';
import { filled, type Operation } from './api-document.ts';
import { columnsOf } from './columns.tsx';
import { Filters, type FilterValues } from './filters.tsx';
import { type Action, type Item, isUnderWay } from './section.ts';
import { useAdministration } from './use-administration.ts';

export interface ResourceListProps {
  readonly caption: string;
  readonly operation: Operation;
  /** Ids for its path. */
  readonly ids: readonly string[];
  readonly columns: readonly string[];
  readonly include?: readonly string[] | undefined;
  /** The section in which a row is opened. */
  readonly shownIn?: string | undefined;
  readonly actions?: readonly Action[] | undefined;
  readonly hasFilters?: boolean;
  readonly asRow?: ((item: Item) => Item) | undefined;
}

/** A list of the API: its rows, its search and filters, and more rows on request. */
export function ResourceList({ caption, operation, ids, columns, ...props }: ResourceListProps) {
  const { include = [], shownIn, actions = [], hasFilters = false } = props;
  const { client } = useSignedIn();
  const { api, offered } = useAdministration();
  const [values, setValues] = useState<FilterValues>({});
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ''));
  for (const part of include) query.append('include[]', part);
  const text = query.toString();
  const path = `${filled(operation.path, ids)}${text === '' ? '' : `?${text}`}`;
  const { items, problem, hasMore, more, reload } = usePages(
    path,
    (at, signal) => client.fetch<List<Item>>(at, { signal }),
    { isMoving: isUnderWay },
  );
  const { asRow = itself } = props;
  const rows = useMemo(() => items?.map(asRow) ?? null, [items, asRow]);
  const offeredActions = actions.filter(({ operation: id }) => offered(id) !== undefined);
  const isFiltered = Object.values(values).some((value) => value !== '');
  return (
    <div class="resource-list">
      {hasFilters && <Filters operation={operation} values={values} onValues={setValues} />}
      <Problem text={problem} />
      {rows === null && problem === '' && <p role="status">{texts.administration.loading}</p>}
      {rows?.length === 0 && (
        <p class="resource-list-none">
          {isFiltered ? texts.administration.noneFits : texts.administration.none}
        </p>
      )}
      {rows !== null && rows.length > 0 && (
        <Table
          caption={caption}
          columns={columnsOf(columns, api.itemOf(operation), api.resolve, (content, { id }) =>
            shownIn === undefined || id === undefined ? (
              content
            ) : (
              <Link to={{ main: { at: 'administration', section: shownIn, id } }}>{content}</Link>
            ),
          )}
          rows={rows}
          keyOf={({ id }, index) => id ?? String(index)}
          actions={
            offeredActions.length === 0
              ? undefined
              : (row) =>
                  offeredActions
                    .filter(({ when }) => when?.(row) ?? true)
                    .map((action) => (
                      <ActionButton
                        key={action.label}
                        action={action}
                        ids={[...ids, row.id]}
                        onDone={reload}
                      />
                    ))
          }
        />
      )}
      {hasMore && <Button onClick={more}>{texts.administration.showMore}</Button>}
    </div>
  );
}

function itself(item: Item): Item {
  return item;
}
