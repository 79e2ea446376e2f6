import type { FieldShape, Shape } from '@parley/ui/form/shape.ts';
import { texts } from '../texts/texts.ts';

/** What a form says of a field, in place of the description of the contract. */
interface FieldText {
  /** Default: made from the name. */
  readonly label?: string;
  /** Default: none. */
  readonly help?: string;
  /** Whether only applications use it, so that it is folded. */
  readonly isForDevelopers?: boolean;
  /** Whether it is required here, although the contract leaves it open. */
  readonly isRequired?: boolean;
  /** What an untouched box means. */
  readonly isOn?: boolean;
  /** The values of other fields with which it is shown. Default: any. */
  readonly goesWith?: Readonly<Record<string, string>>;
}

/**
 * The texts of a form by the paths of its fields, such as `hours.open.day`. Fields stand in this
 * order; those of the contract that are not named here follow with the description of the contract,
 * until a text for them is written (`test/field-texts.test.ts`).
 */
export type FieldTexts = Readonly<Record<string, FieldText>>;

/** Returns the shape of a body with the texts of its form. */
export function worded(shape: Shape, texts: FieldTexts, path = ''): Shape {
  if (shape.kind === 'items' || shape.kind === 'map') {
    return { ...shape, item: worded(shape.item, texts, path) };
  }
  if (shape.kind !== 'group') return shape;
  const order = Object.keys(texts);
  const placeOf = ({ name }: FieldShape) => {
    const place = order.indexOf(below(path, name));
    return place < 0 ? order.length : place;
  };
  const fields = shape.fields
    .toSorted((one, other) => placeOf(one) - placeOf(other))
    .map((field): FieldShape => {
      const at = below(path, field.name);
      const text = texts[at];
      const inner = worded(field.shape, texts, at);
      if (text === undefined) return { ...field, shape: inner };
      const { label, help = '', isForDevelopers = false, isRequired = false, isOn, goesWith } = text;
      return {
        ...field,
        isForDevelopers,
        required: field.required || isRequired,
        ...(label !== undefined && { label }),
        ...(goesWith !== undefined && { goesWith }),
        shape: {
          ...inner,
          help,
          ...(isRequired && { nullable: false }),
          ...(isOn !== undefined && { isOn }),
        },
      };
    });
  return { ...shape, fields };
}

function below(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

const { external_id, metadata } = texts.administration.fields.forDevelopers;

/** The fields by which applications name what is theirs. */
export const FOR_DEVELOPERS: FieldTexts = {
  external_id: { ...external_id, isForDevelopers: true },
  metadata: { ...metadata, isForDevelopers: true },
};
