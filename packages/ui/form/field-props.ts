import type { Draft } from './draft.ts';
import type { Shape } from './shape.ts';

/** Called with the new draft of a part, and the path of the field that a person changed. */
type OnDraft = (draft: Draft, path: string) => void;

export interface PartProps {
  readonly shape: Shape;
  readonly draft: Draft;
  readonly path: string;
  readonly onDraft: OnDraft;
}

export interface FieldProps extends PartProps {
  /** The name of its field in the contract; items of a list have the list's name. */
  readonly name: string;
  readonly label: string;
  readonly isRequired?: boolean;
  readonly isLabelHidden?: boolean;
}
