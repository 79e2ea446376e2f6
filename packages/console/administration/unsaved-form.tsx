import { SchemaForm, type SchemaFormProps } from '@parley/ui/form/schema-form.tsx';
import { Confirm } from '@parley/ui/overlays/confirm.tsx';
import { useState } from 'preact/hooks';
import { useHeldPlace } from '../nav/held-place.ts';
import { texts } from '../texts/texts.ts';

/** A form that is not left with what was typed into it without a question. */
export function UnsavedForm({ onSubmit, onCancel, ...props }: Omit<SchemaFormProps, 'onEdited'>) {
  const [isEdited, setEdited] = useState(false);
  const [isSent, setSent] = useState(false);
  const [leave, setLeave] = useState<() => void>();
  const release = useHeldPlace(isEdited && !isSent, (next) => setLeave(() => next));
  return (
    <>
      <SchemaForm
        {...props}
        onEdited={setEdited}
        onSubmit={async (body) => {
          release();
          setSent(true);
          try {
            await onSubmit(body);
          } catch (error) {
            setSent(false);
            throw error;
          }
        }}
        onCancel={
          onCancel &&
          (() => {
            release();
            onCancel();
          })
        }
      />
      {leave !== undefined && (
        <Confirm
          title={texts.administration.askLeave}
          text={texts.administration.notSaved}
          action={texts.administration.leave}
          isDanger
          onConfirm={async () => leave()}
          onClose={() => setLeave(undefined)}
        />
      )}
    </>
  );
}
