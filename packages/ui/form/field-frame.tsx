import type { ComponentChildren } from 'preact';
import { idOf, useForm } from './form-context.ts';
import { Help } from './help.tsx';
import type { Wiring } from './wiring.ts';

export interface FieldFrameProps {
  readonly path: string;
  readonly label: string;
  readonly help: string;
  readonly isRequired?: boolean;
  readonly isLabelHidden?: boolean;
  /** Whether its label stands behind it. */
  readonly isFlag?: boolean;
  readonly children: (wiring: Wiring) => ComponentChildren;
}

/** The label, the help and the problem of a control. */
export function FieldFrame({ path, label, help, children, ...look }: FieldFrameProps) {
  const { isRequired = false, isLabelHidden = false, isFlag = false } = look;
  const { id, problem, describedBy } = useField(path, help);
  const name = (
    <label for={id} class={isLabelHidden ? 'hidden-visually' : 'field-label'}>
      {label}
      {isRequired && <span aria-hidden="true"> *</span>}
    </label>
  );
  const control = children({ id, 'aria-describedby': describedBy, 'aria-invalid': problem !== undefined });
  return (
    <div class={isFlag ? 'field field-flag' : 'field'}>
      {isFlag ? (
        <span class="field-line">
          {control}
          {name}
        </span>
      ) : (
        name
      )}
      {help !== '' && <Help id={`${id}-help`} text={help} />}
      {!isFlag && control}
      <Problem id={id} problem={problem} />
    </div>
  );
}

export interface FieldSetProps {
  readonly path: string;
  readonly label: string;
  readonly help: string;
  readonly children: ComponentChildren;
}

/** Fields that belong together. */
export function FieldSet({ path, label, help, children }: FieldSetProps) {
  const { id, problem, describedBy } = useField(path, help);
  return (
    <fieldset id={id} class="field-set" aria-describedby={describedBy}>
      <legend class="field-label">{label}</legend>
      {help !== '' && <Help id={`${id}-help`} text={help} />}
      {children}
      <Problem id={id} problem={problem} />
    </fieldset>
  );
}

function Problem({ id, problem }: { readonly id: string; readonly problem: string | undefined }) {
  if (problem === undefined) return null;
  return (
    <p id={`${id}-problem`} class="field-problem">
      {problem}
    </p>
  );
}

function useField(path: string, help: string) {
  const form = useForm();
  const id = idOf(form.id, path);
  const problem = form.problems.get(path);
  const parts = [...(help === '' ? [] : [`${id}-help`]), ...(problem === undefined ? [] : [`${id}-problem`])];
  return { id, problem, describedBy: parts.length === 0 ? undefined : parts.join(' ') };
}
