import type { ESTree } from 'rolldown/utils';
import type { Signature } from '../../../src/api/documents/pages/sdk-reference.ts';
import type { DeclarationModule } from './modules.ts';

export interface SignatureOptions {
  readonly module: DeclarationModule;
  /** Returns the name of a type with the place where it stands, or the name alone. */
  readonly linked: (name: string) => Signature[number];
  /** Returns the items of a constant list; undefined for other names. */
  readonly itemsOf: (name: string) => readonly string[] | undefined;
  /** The arguments for the type parameters of an interface or class that is extended. */
  readonly arguments: ReadonlyMap<string, () => Signature>;
}

/**
 * Returns the text of a range of a module without its comments. The names of types are pieces of
 * their own, with their addresses; the items of a list stand in place of `(typeof LIST)[number]`.
 */
export function signatureOf(
  node: ESTree.Node,
  { start, end }: Pick<ESTree.Node, 'start' | 'end'>,
  options: SignatureOptions,
): Signature {
  const { module } = options;
  const named = typesIn(node).sort((a, b) => a.start - b.start);
  const pieces: Signature[number][] = [];
  for (const part of module.withoutComments(start, end)) {
    let from = part.start;
    for (const type of named) {
      if (type.start < from || type.end > part.end) continue;
      const shown = shownAs(type, options);
      if (shown === undefined) continue;
      pieces.push(module.code.slice(from, type.start), ...shown);
      from = type.end;
    }
    pieces.push(module.code.slice(from, part.end));
  }
  return indented(pieces);
}

function shownAs(
  type: NamedType,
  { linked, itemsOf, arguments: given }: SignatureOptions,
): Signature | undefined {
  if (type.type === 'TSIndexedAccessType') {
    const items = itemsOf(listOf(type) ?? '');
    return items && [items.join(' | ')];
  }
  return given.get(type.name)?.() ?? [linked(type.name)];
}

type NamedType = ESTree.IdentifierReference | ESTree.TSIndexedAccessType;

/** Returns the name in `(typeof NAME)[number]`. */
function listOf({ objectType, indexType }: ESTree.TSIndexedAccessType): string | undefined {
  const list = objectType.type === 'TSParenthesizedType' ? objectType.typeAnnotation : objectType;
  if (indexType.type !== 'TSNumberKeyword' || list.type !== 'TSTypeQuery') return undefined;
  return list.exprName.type === 'Identifier' ? list.exprName.name : undefined;
}

/**
 * Returns every identifier below a node that names a type, or a value in `typeof`, and every type
 * that may be the items of a list.
 */
function typesIn(node: ESTree.Node): NamedType[] {
  const found: NamedType[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) visit(one);
    if (!isNode(value)) return;
    if (value.type === 'TSIndexedAccessType' && listOf(value) !== undefined) found.push(value);
    const name =
      value.type === 'TSTypeReference'
        ? value.typeName
        : value.type === 'TSTypeQuery'
          ? value.exprName
          : undefined;
    if (name?.type === 'Identifier') found.push(name as ESTree.IdentifierReference);
    for (const part of Object.values(value)) if (part !== name) visit(part);
  };
  visit(node);
  return found;
}

function isNode(value: unknown): value is ESTree.Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}

/** Joins neighbours without an address, and indents lines by the brackets around them. */
function indented(pieces: Signature): Signature {
  const joined: Signature[number][] = [];
  let depth = 0;
  const indent = (line: string, index: number, lines: readonly string[]) => {
    const bare = index === 0 ? line : line.trimStart();
    const closing = index > 0 && /^[}>]/.test(bare) ? 1 : 0;
    const text = index === 0 ? bare : '  '.repeat(depth - closing) + bare;
    // Type parameters are on lines of their own where there are several.
    if (bare.endsWith('<') && index < lines.length - 1) depth++;
    if (bare.startsWith('>') && index > 0) depth--;
    depth += bare.split('{').length - bare.split('}').length;
    return text;
  };
  for (const piece of pieces) {
    const last = joined.at(-1);
    const shown = typeof piece === 'string' ? piece.split('\n').map(indent).join('\n') : piece;
    if (typeof shown === 'string' && typeof last === 'string') joined[joined.length - 1] = last + shown;
    else if (shown !== '') joined.push(shown);
  }
  return joined;
}
