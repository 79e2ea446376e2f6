import type { ComponentChildren } from 'preact';
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import { Button } from '../elements/button.tsx';
import { useAction } from '../feedback/action.ts';
import { useEvent } from '../hooks/use-event.ts';
import { uiTexts } from '../texts/ui-texts.ts';
import { changesOf, type Draft, draftOf, groupOf, newBody, shownPart, shownValue } from './draft.ts';
import { GroupFields } from './fields.tsx';
import { FormContext, type FormParts, idOf } from './form-context.ts';
import { fieldFor, type Problems, problemsOf } from './problems.ts';
import type { Shape } from './shape.ts';

export interface SchemaFormProps {
  readonly shape: Shape;
  /** The first content of the fields. */
  readonly value?: unknown;
  /** Whether only the differences from `value` are sent. */
  readonly sendsChanges?: boolean;
  readonly submitLabel: string;
  readonly isDanger?: boolean;
  readonly special?: FormParts['special'];
  /** Rejects with the server's refusal, whose `param` names a field. */
  readonly onSubmit: (body: object) => Promise<unknown>;
  readonly onCancel?: (() => void) | undefined;
  /** Stands above the fields. */
  readonly children?: ComponentChildren;
  /** Stands beside the fields, and shows what they make. */
  readonly beside?: ((value: unknown) => ComponentChildren) | undefined;
  /** Called when the form begins and ceases to differ from what it began with. */
  readonly onEdited?: (isEdited: boolean) => void;
}

const NONE: Problems = new Map();

/**
 * A form for the body of a request. The typed text stays when the server refuses it: the message
 * stands at the field that it names, which gets the focus. A second click while a request is under
 * way does nothing.
 */
export function SchemaForm({
  shape: whole,
  value,
  sendsChanges = false,
  onSubmit,
  ...props
}: SchemaFormProps) {
  const { submitLabel, isDanger = false, special = () => undefined, onCancel, children, beside } = props;
  const edited = useEvent(props.onEdited ?? (() => {}));
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const [first] = useState<Draft>(() => draftOf(whole, value));
  const [draft, setDraft] = useState<Draft>(first);
  const shape = shownPart(whole, groupOf(draft));
  const [problems, setProblems] = useState<Problems>(NONE);
  const { isBusy, problem: refusal, run } = useAction();
  const send = async () => {
    const found = problemsOf(shape, draft);
    setProblems(found);
    if (found.size > 0) return;
    try {
      await onSubmit(sendsChanges ? changesOf(shape, draft, first) : newBody(shape, draft));
    } catch (error) {
      const { message, param = null } = error as Error & { readonly param?: string | null };
      const path = fieldFor(shape, draft, param);
      if (path === undefined) throw error;
      // What the page has no field for, such as a part of a file, is named.
      const rest = param!.slice(path.length + 1);
      setProblems(new Map([[path, param!.startsWith(`${path}.`) ? `${rest}: ${message}` : message]]));
    }
  };
  const isEdited = useMemo(() => JSON.stringify(draft) !== JSON.stringify(first), [draft, first]);
  useEffect(() => edited(isEdited), [isEdited, edited]);
  const submit = (event: Event) => {
    event.preventDefault();
    void run(send);
  };
  useEffect(() => {
    const [path] = problems.keys();
    if (path !== undefined) focusField(idOf(id, path));
  }, [problems, id]);
  useEffect(() => {
    if (refusal !== '') form.current!.querySelector<HTMLElement>('.form-refusal')?.focus();
  }, [refusal]);
  const fields = (
    <form ref={form} class="form" noValidate onSubmit={submit}>
      {children}
      {refusal !== '' && (
        <p class="form-refusal" role="alert" tabIndex={-1}>
          {refusal}
        </p>
      )}
      <FormContext.Provider value={{ id, problems, special }}>
        <GroupFields
          shape={shape}
          draft={draft}
          path=""
          onDraft={(next, path) => {
            setDraft(next);
            // The problem of a field is unknown for its new text.
            if (problems.has(path)) setProblems(new Map([...problems].filter(([key]) => key !== path)));
          }}
        />
      </FormContext.Provider>
      <div class="form-end">
        <Button type="submit" look={isDanger ? 'danger' : 'primary'} aria-disabled={isBusy}>
          {isBusy ? uiTexts.form.moment : submitLabel}
        </Button>
        {onCancel && <Button onClick={onCancel}>{uiTexts.form.cancel}</Button>}
      </div>
    </form>
  );
  if (beside === undefined) return fields;
  return (
    <div class="form-beside">
      {fields}
      {beside(shownValue(shape, draft))}
    </div>
  );
}

const FOCUSABLE = 'input, select, textarea, button';

function focusField(id: string): void {
  const element = document.getElementById(id);
  const field = element?.matches(FOCUSABLE) ? element : element?.querySelector<HTMLElement>(FOCUSABLE);
  field?.focus();
}
