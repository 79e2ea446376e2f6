import type { ArchiveFacts, Import, UploadProgress } from '@parley/client';
import { Table } from '@parley/ui/data/table.tsx';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { sentenceOf } from '@parley/ui/form/labels.ts';
import { countText } from '@parley/ui/text/amounts.ts';
import { useId, useRef, useState } from 'preact/hooks';
import { columnsOf } from '../administration/columns.tsx';
import type { Item, MoreProps } from '../administration/section.ts';
import { useAdministration } from '../administration/use-administration.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { Progress } from './upload-progress.tsx';

/** The needs of an import, its progress, and its results. */
export function ImportReport({ item, reload }: MoreProps) {
  const { api, offered } = useAdministration();
  const { status, counts, progress } = item as unknown as Import;
  const schema = api.operation('get_import')?.answer ?? {};
  const rows = (counts ?? []) as unknown as readonly Item[];
  const columns = columnsOf(['type', 'in_archive', 'imported', 'existed', 'skipped'], schema, api.resolve);
  return (
    <>
      {status === 'awaiting_upload' && offered('create_import') && (
        <Rest made={item as unknown as Import} onDone={reload} />
      )}
      {status === 'running' && (
        <p role="status">
          <progress
            aria-label={texts.import.import}
            max={Math.max(1, progress.total)}
            value={progress.done}
          />{' '}
          {texts.import.progress(progress.done, progress.total)}
        </p>
      )}
      {rows.length > 0 && (
        <section class="administration-part">
          <h2>{texts.import.report}</h2>
          <Table
            caption={texts.import.report}
            columns={columns.map((column, index) =>
              index > 0 ? column : { ...column, cell: (row: Item) => sentenceOf(String(row.type)) },
            )}
            rows={rows}
            keyOf={({ type }) => String(type)}
          />
        </section>
      )}
    </>
  );
}

interface RestProps {
  readonly made: Import;
  readonly onDone: () => void;
}

/** Goes on with an upload that was broken off. */
function Rest({ made, onDone }: RestProps) {
  const { client } = useSignedIn();
  const id = useId();
  const file = useRef<HTMLInputElement>(null);
  const [progress, setProgress] = useState<UploadProgress>();
  const { problem, run } = useAction();
  const go = async () => {
    const archive = file.current!.files?.[0];
    if (archive?.size !== made.size_bytes) {
      throw new Error(texts.import.chooseAgain(countText(made.size_bytes)));
    }
    try {
      const facts: ArchiveFacts = { source: made.source };
      await client.importArchive(archive, facts, { resume: made, onProgress: setProgress });
      onDone();
    } finally {
      setProgress(undefined);
    }
  };
  return (
    <section class="administration-part field" aria-label={texts.import.upload}>
      <h2>{texts.import.upload}</h2>
      <label for={id}>{texts.import.rest}</label>
      <input ref={file} id={id} type="file" />
      {progress && <Progress {...progress} />}
      <Problem text={problem} />
      <p>
        <Button onClick={() => run(go)}>{texts.import.goOn}</Button>
      </p>
    </section>
  );
}
