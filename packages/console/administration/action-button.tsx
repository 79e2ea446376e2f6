import { Button } from '@parley/ui/elements/button.tsx';
import type { JsonSchema } from '@parley/ui/form/json-schema.ts';
import { SchemaForm } from '@parley/ui/form/schema-form.tsx';
import { shapeOf } from '@parley/ui/form/shape.ts';
import { Dialog } from '@parley/ui/overlays/dialog.tsx';
import { useMemo, useRef, useState } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';
import type { Operation } from './api-document.ts';
import { specialFields } from './choices.ts';
import { type PageProps, secretOf } from './page.ts';
import type { Action, Item } from './section.ts';
import { useAdministration } from './use-administration.ts';

export interface ActionButtonProps extends Pick<PageProps, 'show' | 'open'> {
  readonly action: Action;
  /** Ids for the path; the button asks for an absent one. */
  readonly ids: readonly string[];
  readonly onDone: () => void;
}

/** The button of an action, if it is offered to the caller. */
export function ActionButton({ action, ...props }: ActionButtonProps) {
  const { offered } = useAdministration();
  const operation = offered(action.operation);
  return operation === undefined ? null : <OfferedAction {...props} action={action} operation={operation} />;
}

function OfferedAction({ action, operation, ids, show, open, onDone }: ActionButtonProps & OfOperation) {
  const { api, call } = useAdministration();
  const { label, warning, isDanger = false, secret, shownIn, removes = false } = action;
  const [isOpen, setOpen] = useState(false);
  const underWay = useRef(false);
  const { shape, asked } = useMemo(() => {
    const { asked, ...schema } = formOf(operation, ids.length, api.resolve);
    return { shape: shapeOf(schema, api.resolve), asked };
  }, [operation, ids.length, api]);
  const hasFields = shape.kind === 'group' && shape.fields.length > 0;
  const run = async (filled: object) => {
    const given = filled as Readonly<Record<string, unknown>>;
    const body = Object.fromEntries(Object.entries(given).filter(([name]) => !asked.includes(name)));
    const request = { ids: [...ids, ...asked.map((name) => String(given[name]))], body };
    const answer = (await call(
      operation,
      operation.body === undefined ? { ids: request.ids } : request,
    )) as Item;
    setOpen(false);
    const target = removes ? '' : shownIn === undefined ? undefined : answer.id;
    show(`${label}: done.`, { secret: secretOf(answer, secret), at: target, isGone: removes });
    if (removes) open();
    else if (shownIn !== undefined) open(answer.id, shownIn);
    else onDone();
  };
  const press = async () => {
    if (warning !== undefined || hasFields) {
      setOpen(true);
      return;
    }
    if (underWay.current) return;
    underWay.current = true;
    try {
      await run({});
    } catch (error) {
      show((error as Error).message);
    } finally {
      underWay.current = false;
    }
  };
  return (
    <>
      <Button {...(isDanger && { look: 'danger' as const })} onClick={press}>
        {label}
      </Button>
      {isOpen && (
        <Dialog title={label} onClose={() => setOpen(false)}>
          <ActionForm
            shape={shape}
            action={action}
            warning={warning}
            isDanger={isDanger}
            run={run}
            onCancel={() => setOpen(false)}
          />
        </Dialog>
      )}
    </>
  );
}

interface OfOperation {
  readonly operation: Operation;
}

interface ActionFormProps {
  readonly shape: ReturnType<typeof shapeOf>;
  readonly action: Action;
  readonly warning: string | undefined;
  readonly isDanger: boolean;
  readonly run: (body: object) => Promise<void>;
  readonly onCancel: () => void;
}

function ActionForm({ shape, action, warning, isDanger, run, onCancel }: ActionFormProps) {
  const { client } = useSignedIn();
  const administration = useAdministration();
  return (
    <SchemaForm
      shape={shape}
      submitLabel={action.label}
      isDanger={isDanger}
      special={specialFields(administration, client)}
      onSubmit={run}
      onCancel={onCancel}
    >
      {warning !== undefined && <p>{warning}</p>}
    </SchemaForm>
  );
}

/** Returns the fields of the body, with the parts of the path that are not known before them. */
function formOf({ pathParams, body }: Operation, known: number, resolve: (reference: string) => JsonSchema) {
  const unknown = pathParams.slice(known);
  const one = body?.$ref === undefined ? body : resolve(body.$ref);
  const properties = {
    ...Object.fromEntries(unknown.map(({ name, description, schema }) => [name, { description, ...schema }])),
    ...one?.properties,
  };
  const asked = unknown.map(({ name }) => name);
  return { properties, asked, required: [...asked, ...(one?.required ?? [])] };
}
