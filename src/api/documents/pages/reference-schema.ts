import { nameOf, type SchemaObject } from '../openapi/schemas.ts';
import { code, type Html, html, joined, prose } from './html.ts';

export function schemaAnchor(name: string): string {
  return `schema-${name}`;
}

/** Returns the fields of an object, including the fields of inline objects; '' if none. */
export function fieldList(schema: SchemaObject): Html {
  if (schema.oneOf !== undefined) return forms(schema.oneOf);
  const { properties = {}, required = [] } = schema;
  const fields = Object.entries(properties);
  if (fields.length === 0) return html``;
  return html`<dl class="fields">
${fields.map(([name, field]) => entry(name, field, required.includes(name)))}
</dl>`;
}

/** Returns a field's or parameter's name and type, then its meaning. `marks` follow the type. */
export function fieldEntry(name: string, schema: SchemaObject, marks: readonly string[]): Html {
  const { description = '' } = schema;
  return html`<div>
<dt><code>${name}</code> <span class="type">${typeOf(schema)}</span>${marks.map((mark) => html` <span class="mark">${mark}</span>`)}</dt>
<dd>${description === '' ? '' : html`<p>${prose(description)}</p>`}${boundsOf(schema)}${fieldList(innerOf(schema))}</dd>
</div>`;
}

function entry(name: string, schema: SchemaObject, isRequired: boolean): Html {
  return fieldEntry(name, schema, isRequired && schema.const === undefined ? ['required'] : []);
}

/** Returns the forms, which the constant in the first field distinguishes. */
function forms(alternatives: readonly SchemaObject[]): Html {
  return html`${alternatives.map((form) => {
    const [field, constant] = Object.entries(form.properties ?? {})[0] ?? [];
    return html`<p class="form">Where <code>${field ?? ''}</code> is <code>${String(constant?.const)}</code>:</p>
${fieldList(form)}`;
  })}`;
}

/** Returns the schema with a field's own fields: an inline object, or the items of a list. */
function innerOf(schema: SchemaObject): SchemaObject {
  const choice = schema.anyOf?.find(({ type }) => type !== 'null');
  return choice === undefined ? (schema.items ?? schema) : innerOf(choice);
}

function typeOf(schema: SchemaObject): Html {
  const { $ref, allOf, anyOf, items, additionalProperties, type } = schema;
  if ($ref !== undefined) return html`<a href="#${schemaAnchor(nameOf($ref))}">${nameOf($ref)}</a>`;
  if (allOf?.[0]?.$ref !== undefined) return typeOf(allOf[0]);
  if (anyOf !== undefined) return joined(anyOf.map(typeOf), ' or ');
  const names = type === undefined ? ['any JSON'] : typeof type === 'string' ? [type] : type;
  return joined(
    names.map((name) => {
      if (name === 'array' && items !== undefined) return html`list of ${typeOf(items)}`;
      if (name === 'object' && typeof additionalProperties === 'object') {
        return html`map of ${typeOf(additionalProperties)}`;
      }
      return html`${name}`;
    }),
    ' or ',
  );
}

function boundsOf(schema: SchemaObject): Html {
  const { items, default: preset } = schema;
  const members = (schema.enum ?? items?.enum ?? []).filter((member) => member !== null);
  const words = [
    ...limitsOf(schema),
    ...(items === undefined ? [] : limitsOf(items).map((limit) => `Each: ${limit}`)),
    ...(preset === undefined ? [] : [`Default ${JSON.stringify(preset)}.`]),
  ];
  if (members.length === 0 && words.length === 0) return html``;
  const listed =
    members.length === 0
      ? html``
      : html`One of ${joined(
          members.map((member) => code(String(member))),
          ', ',
        )}. `;
  return html`<p class="bounds">${listed}${words.join(' ')}</p>`;
}

function limitsOf(schema: SchemaObject): string[] {
  // The kinds of an id are of no use to callers, who do not make ids up.
  if (schema['x-id-of'] !== undefined) return [];
  const { format, minLength, maxLength, minimum, maximum, minItems, maxItems, pattern } = schema;
  const limits: readonly (readonly [value: unknown, before: string, after?: string])[] = [
    [format, 'Format '],
    [pattern === '\\S' ? undefined : pattern, 'Pattern '],
    [minimum, 'At least '],
    [maximum, 'At most '],
    [minLength, 'At least ', ' characters'],
    [maxLength, 'At most ', ' characters'],
    [minItems, 'At least ', ' items'],
    [maxItems, 'At most ', ' items'],
  ];
  return limits
    .filter(([value]) => value !== undefined)
    .map(([value, before, after = '']) => `${before}${shown(value)}${after}.`);
}

function shown(value: unknown): string {
  return typeof value === 'number' ? value.toLocaleString('en') : String(value);
}
