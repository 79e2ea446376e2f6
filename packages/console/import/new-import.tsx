import type { ArchiveFacts, UploadProgress } from '@parley/client';
import { shapeOf } from '@parley/ui/form/shape.ts';
import { useId, useMemo, useRef, useState } from 'preact/hooks';
import { worded } from '../administration/field-texts.ts';
import type { NewProps } from '../administration/section.ts';
import { IMPORT_TEXTS } from '../administration/texts/data-texts.ts';
import { UnsavedForm } from '../administration/unsaved-form.tsx';
import { useAdministration } from '../administration/use-administration.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { Progress } from './upload-progress.tsx';

/** The fields that the file itself answers. */
const OF_THE_FILE: ReadonlySet<string> = new Set(['size_bytes', 'sha256']);

/** The form for an import: the archive and its kind. The upload begins with it. */
export function NewImport({ onMade }: NewProps) {
  const { client } = useSignedIn();
  const { api } = useAdministration();
  const id = useId();
  const file = useRef<HTMLInputElement>(null);
  const [progress, setProgress] = useState<UploadProgress>();
  const [problem, setProblem] = useState('');
  const shape = useMemo(() => {
    const { body } = api.operation('create_import')!;
    const whole = worded(shapeOf(body ?? {}, api.resolve), IMPORT_TEXTS);
    if (whole.kind !== 'group') return whole;
    return { ...whole, fields: whole.fields.filter(({ name }) => !OF_THE_FILE.has(name)) };
  }, [api]);
  return (
    <UnsavedForm
      shape={shape}
      submitLabel={texts.import.uploadAndStart}
      onSubmit={async (body) => {
        const archive = file.current!.files?.[0];
        setProblem(archive === undefined ? texts.import.choose : '');
        if (archive === undefined) {
          file.current!.focus();
          return;
        }
        try {
          const made = await client.importArchive(archive, body as ArchiveFacts, { onProgress: setProgress });
          onMade(made.id);
        } finally {
          setProgress(undefined);
        }
      }}
    >
      <div class="field">
        <label class="field-label" for={id}>
          {texts.import.archive}
          <span aria-hidden="true"> *</span>
        </label>
        <input
          ref={file}
          id={id}
          type="file"
          required
          aria-invalid={problem !== ''}
          aria-describedby={problem === '' ? undefined : `${id}-problem`}
          onChange={() => setProblem('')}
        />
        {problem !== '' && (
          <p id={`${id}-problem`} class="field-problem">
            {problem}
          </p>
        )}
      </div>
      {progress && <Progress {...progress} />}
    </UnsavedForm>
  );
}
