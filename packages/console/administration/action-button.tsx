import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import type { JsonSchema } from '@parley/ui/form/json-schema.ts';
import { SchemaForm } from '@parley/ui/form/schema-form.tsx';
import { shapeOf } from '@parley/ui/form/shape.ts';
import { Dialog } from '@parley/ui/overlays/dialog.tsx';
import { useMemo, useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import type { Operation } from './api-document.ts';
import { worded } from './field-texts.ts';
import { secretOf, usePage } from './page.ts';
import type { Action, Item } from './section.ts';
import { useAdministration } from './use-administration.ts';

export interface ActionButtonProps {
  readonly action: Action;
  /** Ids for the path; the button asks for an absent one. */
  readonly ids: readonly string[];
  /** The name of the resource, for a secret of it. */
  readonly of?: string;
  readonly onDone?: () => void;
}

/** The button of an action, if it is offered to the caller. */
export function ActionButton(props: ActionButtonProps) {
  const operation = useAdministration().offered(props.action.operation);
  return operation === undefined ? null : <OfferedAction {...props} operation={operation} />;
}

export interface OfferedActionProps extends ActionButtonProps {
  readonly operation: Operation;
}

function OfferedAction({ operation, ...props }: OfferedActionProps) {
  const { label, isDanger = false } = props.action;
  const [isOpen, setOpen] = useState(false);
  const pressed = useAction();
  const { asks, run, fail } = useOfferedAction({ ...props, operation });
  return (
    <>
      <Button
        {...(isDanger && { look: 'danger' as const })}
        onClick={() => (asks ? setOpen(true) : void pressed.run(() => run({}).catch(fail)))}
      >
        {label}
      </Button>
      {isOpen && <ActionDialog {...props} operation={operation} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Asks for the fields of an action, and says what it means. */
export function ActionDialog({ onClose, ...props }: OfferedActionProps & { readonly onClose: () => void }) {
  const { special } = useAdministration();
  const { shape, run } = useOfferedAction(props);
  const { label, warning, isDanger = false } = props.action;
  return (
    <Dialog title={label} onClose={onClose}>
      <SchemaForm
        shape={shape}
        submitLabel={label}
        isDanger={isDanger}
        special={special}
        onSubmit={async (body) => {
          await run(body);
          onClose();
        }}
        onCancel={onClose}
      >
        {warning !== undefined && <p>{warning}</p>}
      </SchemaForm>
    </Dialog>
  );
}

function useOfferedAction({ action, operation, ids, of, onDone }: OfferedActionProps) {
  const { api, call } = useAdministration();
  const { show, open } = usePage();
  const { label, warning, secret, shownIn, removes = false, texts: words, fields, doneText } = action;
  const { shape, asked } = useMemo(() => {
    const { asked, ...schema } = formOf(operation, ids.length, api.resolve, fields);
    return { shape: worded(shapeOf(schema, api.resolve), words ?? {}), asked };
  }, [operation, ids.length, api, words, fields]);
  const run = async (filled: object) => {
    const given = filled as Readonly<Record<string, unknown>>;
    const body = Object.fromEntries(Object.entries(given).filter(([name]) => !asked.includes(name)));
    const request = { ids: [...ids, ...asked.map((name) => String(given[name]))], body };
    const answer = (await call(
      operation,
      operation.body === undefined ? { ids: request.ids } : request,
    )) as Item;
    const target = removes ? '' : shownIn === undefined ? undefined : answer.id;
    const shown = { secret: secretOf(answer, secret), at: target, isGone: removes };
    show(doneText?.(answer) ?? texts.administration.done(label), {
      ...shown,
      ...(of !== undefined && { of }),
    });
    if (removes) open();
    else if (shownIn !== undefined) open(answer.id, shownIn);
    else onDone?.();
  };
  const hasFields = shape.kind === 'group' && shape.fields.length > 0;
  const fail = ({ message }: Error) => show(message);
  return { shape, run, fail, asks: warning !== undefined || hasFields };
}

/**
 * Returns the fields of the body, or those of `fields`, with the parts of the path that are not known
 * before them.
 */
function formOf(
  { pathParams, body }: Operation,
  known: number,
  resolve: (reference: string) => JsonSchema,
  fields?: readonly string[],
) {
  const unknown = pathParams.slice(known);
  const one = body?.$ref === undefined ? body : resolve(body.$ref);
  const inBody = Object.entries(one?.properties ?? {}).filter(([name]) => fields?.includes(name) ?? true);
  const properties = {
    ...Object.fromEntries(unknown.map(({ name, description, schema }) => [name, { description, ...schema }])),
    ...Object.fromEntries(inBody),
  };
  const asked = unknown.map(({ name }) => name);
  return { properties, asked, required: [...asked, ...(one?.required ?? [])] };
}
