import { type ComponentType, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Choices } from '../choices/combobox.tsx';
import type { Draft } from './draft.ts';
import type { JsonSchema } from './json-schema.ts';
import type { Problems } from './problems.ts';
import type { Wiring } from './wiring.ts';

/** A replacement of a plain field. */
export type Special =
  | ({ readonly kind: 'choices' } & Choices)
  | { readonly kind: 'own'; readonly Control: ComponentType<OwnControlProps>; readonly isSet?: boolean }
  /** A file, which becomes the text that the field holds. */
  | {
      readonly kind: 'file';
      readonly accept: string;
      readonly upload: (file: File) => Promise<string>;
      /** Says what became of the file. Default: it is uploaded. */
      readonly doneText?: (file: string) => string;
    };

/** The properties of a control that is made for one field. */
export interface OwnControlProps {
  /** Absent where the control is a set of fields. */
  readonly wiring?: Wiring;
  readonly label: string;
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
}

export interface FormParts {
  /** The beginning of the ids of all fields. */
  readonly id: string;
  readonly problems: Problems;
  /** Returns the replacement of a field, if it has one. */
  readonly special: (name: string, schema: JsonSchema) => Special | undefined;
}

export const FormContext = createContext<FormParts | null>(null);

export function useForm(): FormParts {
  const parts = useContext(FormContext);
  if (parts === null) throw new Error('There is no form above this field.');
  return parts;
}

export function idOf(formId: string, path: string): string {
  return `${formId}-${path}`;
}
