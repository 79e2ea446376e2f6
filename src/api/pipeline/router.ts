import { isCleanText } from '@parley/protocol/validation/validation.ts';
import { decodeText } from './query.ts';

/** The routes at a path by method, and the values of the path's parameters. */
export interface Match<T> {
  readonly byMethod: ReadonlyMap<string, Entry<T>>;
  readonly values: readonly string[];
}

interface Entry<T> {
  readonly route: T;
  /** Names of the parameters, in the order of the values. */
  readonly names: readonly string[];
}

/** Returns the Allow header; every path with GET has HEAD. */
export function methodsOf({ byMethod }: Match<unknown>): string {
  const methods = [...byMethod.keys()];
  if (byMethod.has('GET')) methods.push('HEAD');
  return [...methods, 'OPTIONS'].join(', ');
}

/** Returns the values of the path's parameters by their names. */
export function paramsOf(
  { names }: Pick<Entry<unknown>, 'names'>,
  { values }: Pick<Match<unknown>, 'values'>,
): Record<string, string> {
  const params: Record<string, string> = {};
  for (let i = 0; i < names.length; i++) params[names[i]!] = values[i]!;
  return params;
}

/** Finds routes by path, segment by segment; a literal segment wins over a parameter. */
export class Router<T> {
  readonly #root: Node<T> = newNode();

  /** Adds a route; `path` has `:name` for parameters. Throws if method and path are taken. */
  add(method: string, path: string, route: T): void {
    const names: string[] = [];
    let node = this.#root;
    for (const segment of path.slice(1).split('/')) {
      if (segment.startsWith(':')) {
        names.push(segment.slice(1));
        node.parameter ??= newNode();
        node = node.parameter;
      } else {
        let next = node.fixed.get(segment);
        if (next === undefined) {
          next = newNode();
          node.fixed.set(segment, next);
        }
        node = next;
      }
    }
    if (node.byMethod.has(method)) throw new Error(`${method} ${path} is there twice`);
    node.byMethod.set(method, { route, names });
  }

  /** Returns the match of a path as sent, or undefined if it has no route for any method. */
  find(path: string): Match<T> | undefined {
    return this.#find(this.#root, path, 1, []);
  }

  #find(node: Node<T>, path: string, start: number, values: readonly string[]): Match<T> | undefined {
    const slash = path.indexOf('/', start);
    const isLast = slash === -1;
    const segment = isLast ? path.slice(start) : path.slice(start, slash);

    const next = node.fixed.get(segment);
    const found = next && (isLast ? leaf(next, values) : this.#find(next, path, slash + 1, values));
    if (found !== undefined) return found;

    if (node.parameter === undefined) return undefined;
    const value = decodeSegment(segment);
    if (value === undefined) return undefined;
    const more = [...values, value];
    return isLast ? leaf(node.parameter, more) : this.#find(node.parameter, path, slash + 1, more);
  }
}

interface Node<T> {
  readonly fixed: Map<string, Node<T>>;
  parameter: Node<T> | undefined;
  readonly byMethod: Map<string, Entry<T>>;
}

function newNode<T>(): Node<T> {
  return { fixed: new Map(), parameter: undefined, byMethod: new Map() };
}

function leaf<T>({ byMethod }: Node<T>, values: readonly string[]): Match<T> | undefined {
  return byMethod.size === 0 ? undefined : { byMethod, values };
}

/** Returns undefined for an empty segment or text that Postgres cannot store: no id has either. */
function decodeSegment(segment: string): string | undefined {
  if (segment === '') return undefined;
  if (segment.includes('%')) return decodeText(segment);
  return isCleanText(segment) ? segment : undefined;
}
