import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Choices } from '../choices/combobox.tsx';
import type { JsonSchema } from './json-schema.ts';
import type { Problems } from './problems.ts';

/** A replacement of a plain field. */
export type Special =
  | ({ readonly kind: 'choices' } & Choices)
  /** A file, which becomes the text that the field holds. */
  | { readonly kind: 'file'; readonly accept: string; readonly upload: (file: File) => Promise<string> };

export interface FormParts {
  /** The beginning of the ids of all fields. */
  readonly id: string;
  readonly problems: Problems;
  /** Returns the replacement of a text field, if it has one. */
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
