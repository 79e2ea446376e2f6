import { answerOf, Objects } from './objects.ts';
import type { PagePlace, PageValues } from './page-store.ts';
import type { IdbObjects } from './platform.ts';

interface Row {
  readonly id: RowId;
  readonly value: unknown;
}

type RowId = readonly [owner: readonly string[], name: string];

/** The pages of a person in IndexedDB, for all tabs of a browser. */
export class PageObjects implements PagePlace {
  readonly #owner: readonly string[];
  readonly #objects = new Objects('parley-pages', (database) => {
    database.createObjectStore(ROWS, { keyPath: 'id' });
  });

  constructor(owner: readonly string[]) {
    this.#owner = owner;
  }

  run<T>(work: (values: PageValues) => Promise<T>): Promise<T> {
    const idOf = (name: string): RowId => [this.#owner, name];
    return this.#objects.run('readwrite', ROWS, (rows) =>
      work({
        get: async (name) => ((await answerOf(rows.get(idOf(name)))) as Row | undefined)?.value,
        put: (name, value) => answerOf(rows.put({ id: idOf(name), value } satisfies Row)),
        delete: (name) => answerOf(rows.delete(idOf(name))),
        clear: () => deleteRows(rows, (owner) => isSame(owner, this.#owner)),
      }),
    );
  }

  removeOthers(): Promise<void> {
    return this.#objects.run('readwrite', ROWS, (rows) =>
      deleteRows(rows, (owner) => !isSame(owner, this.#owner)),
    );
  }
}

async function deleteRows(rows: IdbObjects, isWanted: (owner: readonly string[]) => boolean): Promise<void> {
  for (const id of await answerOf(rows.getAllKeys())) {
    const [owner] = id as RowId;
    if (isWanted(owner)) rows.delete(id);
  }
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

const ROWS = 'rows';
