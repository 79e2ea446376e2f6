import { SchemaForm } from '@parley/ui/form/schema-form.tsx';
import { shapeOf } from '@parley/ui/form/shape.ts';
import { useMemo } from 'preact/hooks';
import { Heading } from './heading.tsx';
import { secretOf, titleOf, usePage } from './page.ts';
import type { Item } from './section.ts';
import { useAdministration } from './use-administration.ts';

/** The form for a new resource. */
export function NewPage() {
  const { section, show, open } = usePage();
  const { api, offered, call, special } = useAdministration();
  const { create, one, secret, New } = section;
  const operation = offered(create);
  const shape = useMemo(() => operation && shapeOf(operation.body ?? {}, api.resolve), [operation, api]);
  if (operation === undefined || shape === undefined) {
    return <Heading section={section} title="This is not offered to your role" />;
  }
  return (
    <>
      <Heading section={section} title={`New ${one}`} />
      {New ? (
        <New onMade={(id) => open(id)} />
      ) : (
        <SchemaForm
          shape={shape}
          submitLabel="Create"
          special={special}
          onCancel={() => open()}
          onSubmit={async (body) => {
            const made = (await call(operation, { body })) as Item;
            const shown = { secret: secretOf(made, secret), of: titleOf(made, section), at: made.id };
            show(`The ${one} was created.`, shown);
            open(made.id);
          }}
        />
      )}
    </>
  );
}
