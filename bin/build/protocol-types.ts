import { type ESTree, parseSync } from 'rolldown/utils';
import { type TProperties, type TSchema, Type } from 'typebox';
import { keyText, type WireTypes } from './wire-types.ts';

export interface ProtocolModule {
  readonly file: string;
  readonly code: string;
  /** The module's exports, to read the schemas and tables. */
  readonly exported: Readonly<Record<string, unknown>> | object;
  readonly wire: WireTypes;
  /** The module with the types that `wire` names. */
  readonly wireModule: string;
}

/**
 * Returns the types of a module of the protocol without typebox. `Static<…>` becomes what the
 * schema says. A type whose schema is exported under its name comes from the module of the wire. A
 * table of constants is declared with its values; other types stay as written. Functions, classes,
 * and types of schemas that are not exported are left out: the build names them if a declaration of
 * the SDK needs one.
 */
export function protocolTypes({ file, code, exported, wire, wireModule }: ProtocolModule): string {
  const values = exported as Readonly<Record<string, unknown>>;
  const { program, errors } = parseSync(file, code);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);

  const kept: string[] = [];
  const imports: ESTree.ImportDeclaration[] = [];
  const fromWire = new Map<string, string>();
  let end = 0;
  for (const statement of program.body) {
    const [doc = ''] = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*$/.exec(code.slice(end, statement.start)) ?? [];
    end = statement.end;
    if (statement.type === 'ImportDeclaration') imports.push(statement);
    const isExport = statement.type === 'ExportNamedDeclaration';
    const declaration = isExport ? statement.declaration : statement;
    if (declaration?.type === 'TSTypeAliasDeclaration' || declaration?.type === 'TSInterfaceDeclaration') {
      const { name } = declaration.id;
      const value = values[name];
      const type = isSchema(value) ? wire.typeOf(value) : undefined;
      if (type !== undefined && wire.names.includes(type) && isExport) fromWire.set(name, type);
      else if (type !== undefined) kept.push(`${doc}${isExport ? 'export ' : ''}type ${name} = ${type};`);
      else {
        const text = withoutStatic(code, statement, values, wire);
        if (text !== undefined) kept.push(doc + text);
      }
    } else if (declaration?.type === 'VariableDeclaration' && isExport) {
      for (const { id } of declaration.declarations) {
        if (id.type !== 'Identifier' || isSchema(values[id.name])) continue;
        kept.push(`${doc}export declare const ${id.name}: ${literalType(values[id.name])};`);
      }
    }
  }

  const text = kept.join('\n');
  const isUsed = (name: string) => new RegExp(`\\b${name}\\b`).test(text);
  const local = new Set([...program.body.flatMap(namesOf), ...imports.flatMap(importedNames)]);
  const used = imports.flatMap((statement) => {
    const names = statement.specifiers.filter((specifier) => isUsed(specifier.local.name));
    const isOurs = statement.source.value.startsWith('.');
    if (!isOurs || names.length === 0) return [];
    const listed = names.map((specifier) => code.slice(specifier.start, specifier.end).replace(/^type /, ''));
    return [`import type { ${listed.join(', ')} } from '${statement.source.value}';`];
  });
  const named = wire.names.filter((name) => isUsed(name) && !local.has(name));
  return [
    ...used,
    ...(named.length === 0 ? [] : [`import type { ${named.join(', ')} } from '${wireModule}';`]),
    ...[...fromWire].flatMap(([name, type]) => [
      // Twice, because the types of this module may refer to it.
      `import type { ${type} as ${name} } from '${wireModule}';`,
      `export type { ${name} };`,
    ]),
    text,
    'export {};',
  ].join('\n');
}

/** Returns whether typebox made the value. Its marks are hidden from JSON. */
export function isSchema(value: unknown): value is TSchema {
  return typeof value === 'object' && value !== null && MARKS.some((mark) => mark in value);
}

const MARKS = ['~kind', '~unsafe', '~optional'];

/** Returns the text of a statement with printed types, or undefined if a schema is not exported. */
function withoutStatic(
  code: string,
  statement: ESTree.Node,
  values: Readonly<Record<string, unknown>>,
  wire: WireTypes,
): string | undefined {
  let text = '';
  let at = statement.start;
  for (const reference of staticsIn(statement)) {
    const [argument] = reference.typeArguments?.params ?? [];
    const found = argument && schemaOf(argument, values);
    if (found === undefined) return undefined;
    text +=
      code.slice(at, reference.start) +
      (found.by === undefined ? wire.typeOf(found.schema) : choice(found, wire));
    at = reference.end;
  }
  return text + code.slice(at, statement.end);
}

function choice({ by, schemas }: Choice, wire: WireTypes): string {
  const entries = Object.entries(schemas).map(([key, schema]) => `${keyText(key)}: ${wire.typeOf(schema)};`);
  return `{\n${entries.join('\n')}\n}[${by}]`;
}

/** Returns the types `Static<…>` below a node, in the order of the text. */
function staticsIn(node: unknown): ESTree.TSTypeReference[] {
  if (typeof node !== 'object' || node === null) return [];
  const { type, typeName } = node as Partial<ESTree.TSTypeReference>;
  if (type === 'TSTypeReference' && typeName?.type === 'Identifier' && typeName.name === 'Static') {
    return [node as ESTree.TSTypeReference];
  }
  return Object.values(node).flatMap(staticsIn);
}

/** The schema that the argument of `Static` stands for. */
interface One {
  readonly by?: undefined;
  readonly schema: TSchema | null;
}

/** The schemas of a table; `by`: the type parameter that chooses one. */
interface Choice {
  readonly by: string;
  readonly schemas: Readonly<Record<string, TSchema | null>>;
}

/**
 * Understands `typeof X`, `(typeof X)['key']`, `(typeof X)[N]` for a type parameter, `TObject<…>`.
 */
function schemaOf(node: ESTree.TSType, values: Readonly<Record<string, unknown>>): One | Choice | undefined {
  const value = (found: One | Choice | undefined, change: (schema: unknown) => unknown) => {
    if (found === undefined) return undefined;
    if (found.by === undefined) return { schema: change(found.schema) as TSchema | null };
    const changed = Object.entries(found.schemas).map(([key, schema]) => [
      key,
      change(schema) as TSchema | null,
    ]);
    return { by: found.by, schemas: Object.fromEntries(changed) };
  };
  switch (node.type) {
    case 'TSParenthesizedType':
      return schemaOf(node.typeAnnotation, values);
    case 'TSTypeQuery': {
      const name = node.exprName.type === 'Identifier' ? node.exprName.name : '';
      return Object.hasOwn(values, name) ? { schema: values[name] as TSchema } : undefined;
    }
    case 'TSIndexedAccessType': {
      const table = schemaOf(node.objectType, values);
      const key = node.indexType;
      if (key.type === 'TSLiteralType' && key.literal.type === 'Literal') {
        const { value: name } = key.literal;
        return value(table, (one) => (one as Record<string, unknown>)[String(name)]);
      }
      if (key.type !== 'TSTypeReference' || key.typeName.type !== 'Identifier') return undefined;
      return table?.by === undefined && table !== undefined
        ? { by: key.typeName.name, schemas: table.schema as unknown as Choice['schemas'] }
        : undefined;
    }
    case 'TSTypeReference': {
      const name = node.typeName.type === 'Identifier' ? node.typeName.name : '';
      const [argument] = node.typeArguments?.params ?? [];
      if (argument === undefined) return undefined;
      const inner = schemaOf(argument, values);
      if (name === 'NonNullable') return inner;
      return name === 'TObject'
        ? value(inner, (fields) => (fields === null ? null : Type.Object(fields as TProperties)))
        : undefined;
    }
    default:
      return undefined;
  }
}

/** Returns the type whose one value this is; what JSON does not have is unknown. */
function literalType(value: unknown): string {
  if (Array.isArray(value)) return `readonly [${value.map(literalType).join(', ')}]`;
  if (typeof value !== 'object' || value === null) {
    return ['string', 'number', 'boolean'].includes(typeof value) || value === null
      ? JSON.stringify(value)
      : 'unknown';
  }
  if (isSchema(value) || Object.getPrototypeOf(value) !== Object.prototype) return 'unknown';
  const entries = Object.entries(value).map(([key, one]) => `readonly ${keyText(key)}: ${literalType(one)};`);
  return `{ ${entries.join(' ')} }`;
}

function importedNames({ specifiers }: ESTree.ImportDeclaration): string[] {
  return specifiers.map(({ local }) => local.name);
}

function namesOf(statement: ESTree.Statement): string[] {
  const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
  return declaration !== null && 'id' in declaration && declaration.id?.type === 'Identifier'
    ? [declaration.id.name]
    : [];
}
