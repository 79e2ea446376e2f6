import type { TSchema } from 'typebox';
import { needsBody } from '../../src/api/documents/openapi/operations.ts';
import { SchemaComponents, type SchemaObject } from '../../src/api/documents/openapi/schemas.ts';
import type { Route } from '../../src/api/pipeline/route.ts';

/**
 * Prints the schemas of the contract as types of TypeScript, for readers that have no typebox. A
 * schema that the contract exports is a type of the same name; every other one that has a name in
 * OpenAPI is called after it; the rest stands where it is used. Names are given first, because
 * printed types refer to them.
 */
export class WireTypes {
  readonly #components = new SchemaComponents();
  readonly #named = new Map<string, { readonly name: string; readonly schema: SchemaObject }>();

  get names(): string[] {
    return [...this.#named.values()].map(({ name }) => name);
  }

  /** Names a schema; strings, numbers and lists need no name. */
  name(name: string, schema: TSchema): void {
    const converted = this.#components.convert(schema as SchemaObject);
    const key = keyOf(converted);
    if (!isNamed(converted) || this.#named.has(key)) return;
    if (this.#hasType(name)) throw new Error(`Two schemas of the contract are called ${name}.`);
    this.#named.set(key, { name, schema: converted });
  }

  /** Returns the name in OpenAPI of a printed type's source, if it has one there. */
  resourceOf(type: string): string | undefined {
    const named = [...this.#named.values()].find(({ name }) => name === type);
    return named?.schema.$ref?.slice(REFERENCE.length);
  }

  /** Returns the type of a schema's values; null stands for none. */
  typeOf(schema: TSchema | null): string {
    return schema === null ? 'null' : this.#print(this.#components.convert(schema as SchemaObject));
  }

  /**
   * Returns a module of declarations: every type with a name, and `Routes`, which has the endpoints
   * by the parts of their paths, `{}` for a parameter, and below them by method.
   */
  module(routes: readonly Route[]): string {
    const tree = this.#treeOf(routes);
    const components = this.#components.toJSON();
    for (const name of Object.keys(components)) this.#nameOf({ $ref: REFERENCE + name });
    const types = [...this.#named.values()].map(({ name, schema }) => {
      const { $ref } = schema;
      const whole = $ref === undefined ? schema : components[$ref.slice(REFERENCE.length)]!;
      const type = this.#spell(whole);
      const doc = docOf(whole);
      return whole.properties !== undefined
        ? `${doc}export interface ${name} ${type}`
        : `${doc}export type ${name} = ${type};`;
    });
    return [...types, `export interface Routes ${tree}`].join('\n');
  }

  #treeOf(routes: readonly Route[]): string {
    const root: Tree = new Map();
    for (const { path, method, summary, since, body, response } of routes) {
      let node = root;
      for (const part of path.slice(1).split('/')) {
        const key = part.startsWith(':') ? '{}' : part;
        const next = node.get(key);
        const below: Tree = next instanceof Map ? next : new Map();
        node.set(key, below);
        node = below;
      }
      const sent = body === undefined ? '' : this.#bodyOf(body);
      const doc = docOf({ description: `${summary}. Since version \`${since}\`.` });
      node.set(method, { doc, type: `{ ${sent}readonly answer: ${this.typeOf(response)} }` });
    }
    return spellTree(root);
  }

  #bodyOf(body: TSchema): string {
    const isNeeded = needsBody(this.#components.convert(body as SchemaObject));
    return `readonly body${isNeeded ? '' : '?'}: ${this.typeOf(body)}; `;
  }

  /** Returns the name of a type, which every reference has. */
  #nameOf(schema: SchemaObject): string | undefined {
    const known = this.#named.get(keyOf(schema));
    if (known !== undefined || schema.$ref === undefined) return known?.name;
    const words = schema.$ref.slice(REFERENCE.length).split('_');
    const name = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
    if (this.#hasType(name)) throw new Error(`Two types of the wire are called ${name}.`);
    this.#named.set(schema.$ref, { name, schema });
    return name;
  }

  #hasType(name: string): boolean {
    return this.names.includes(name);
  }

  #print(schema: SchemaObject): string {
    return this.#nameOf(schema) ?? this.#spell(schema);
  }

  #spell(schema: SchemaObject): string {
    const { const: only, enum: members, anyOf, oneOf, allOf, type } = schema;
    if (only !== undefined) return JSON.stringify(only);
    if (members !== undefined) return members.map((member) => JSON.stringify(member)).join(' | ');
    const choices = anyOf ?? oneOf;
    if (choices !== undefined) return choices.map((choice) => this.#print(choice)).join(' | ');
    // A reference with a text of its own. Beside a type, `allOf` has conditions between fields.
    if (type === undefined) return allOf?.length === 1 ? this.#print(allOf[0]!) : 'unknown';
    return [type]
      .flat()
      .map((one) => this.#ofType(one, schema))
      .join(' | ');
  }

  #ofType(type: string, { items, properties, required = [], additionalProperties }: SchemaObject): string {
    if (type === 'array') return `ReadonlyArray<${items === undefined ? 'unknown' : this.#print(items)}>`;
    if (type !== 'object') return type === 'integer' ? 'number' : type;
    if (properties === undefined) {
      const value = typeof additionalProperties === 'object' ? this.#print(additionalProperties) : 'unknown';
      return `Readonly<Record<string, ${value}>>`;
    }
    const fields = Object.entries(properties).map(([name, schema]) => {
      const optional = required.includes(name) ? '' : '?';
      return `${docOf(schema)}readonly ${keyText(name)}${optional}: ${this.#print(schema)};`;
    });
    return `{\n${fields.join('\n')}\n}`;
  }
}

type Tree = Map<string, Tree | { readonly doc: string; readonly type: string }>;

function spellTree(tree: Tree): string {
  const entries = [...tree].map(([key, value]) =>
    value instanceof Map
      ? `readonly ${keyText(key)}: ${spellTree(value)};`
      : `${value.doc}readonly ${key}: ${value.type};`,
  );
  return `{\n${entries.join('\n')}\n}`;
}

export function keyText(key: string): string {
  return /^[a-z_]\w*$/i.test(key) ? key : JSON.stringify(key);
}

const REFERENCE = '#/components/schemas/';

/** Returns the same key for schemas of the same values, whatever the text of their place. */
function keyOf({ description: _, 'x-since': _since, ...schema }: SchemaObject): string {
  return schema.$ref ?? JSON.stringify(schema);
}

/** Returns false for strings, numbers and lists, which are as short as a name. */
function isNamed({ $ref, properties, oneOf }: SchemaObject): boolean {
  return $ref !== undefined || properties !== undefined || oneOf !== undefined;
}

function docOf({ description }: SchemaObject): string {
  return description === undefined ? '' : `/** ${description.replaceAll('*/', '*\\/')} */\n`;
}
