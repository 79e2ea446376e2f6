import { shapeOf } from '@parley/ui/form/shape.ts';
import { useMemo } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import { worded } from './field-texts.ts';
import { Heading } from './heading.tsx';
import { secretOf, titleOf, usePage } from './page.ts';
import type { Item } from './section.ts';
import { UnsavedForm } from './unsaved-form.tsx';
import { useAdministration } from './use-administration.ts';

/** The form for a new resource. */
export function NewPage() {
  const { section, show, open } = usePage();
  const administration = useAdministration();
  const { api, offered, call, special } = administration;
  const { create, one, secret, texts: words, begin, beside, afterMade, New } = section;
  const operation = offered(create);
  const shape = useMemo(
    () => operation && worded(shapeOf(operation.body ?? {}, api.resolve), words),
    [operation, api, words],
  );
  if (operation === undefined || shape === undefined) {
    return <Heading section={section} title={texts.administration.notOffered} />;
  }
  return (
    <>
      <Heading section={section} title={texts.administration.new(one)} />
      {New ? (
        <New onMade={(id) => open(id)} />
      ) : (
        <UnsavedForm
          shape={shape}
          value={begin?.()}
          beside={beside}
          submitLabel={texts.administration.create}
          special={special}
          onCancel={() => open()}
          onSubmit={async (body) => {
            const made = (await call(operation, { body })) as Item;
            const done = { text: texts.administration.created(one), secret: secretOf(made, secret) };
            const { text, secret: once } = (await afterMade?.(made, administration)) ?? done;
            show(text, { secret: once, of: titleOf(made, section), at: made.id });
            open(made.id);
          }}
        />
      )}
    </>
  );
}
