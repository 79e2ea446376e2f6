import { Facts } from '@parley/ui/data/facts.tsx';
import { Button } from '@parley/ui/elements/button.tsx';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { shapeOf } from '@parley/ui/form/shape.ts';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { Confirm } from '@parley/ui/overlays/confirm.tsx';
import { Pencil } from 'lucide';
import { useMemo, useState } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { ActionButton } from './action-button.tsx';
import { ActionMenu } from './action-menu.tsx';
import { filled, type Operation } from './api-document.ts';
import { worded } from './field-texts.ts';
import { Heading } from './heading.tsx';
import { including, secretOf, titleOf, usePage } from './page.ts';
import { PartView } from './part-view.tsx';
import { type Item, isUnderWay, type Meaning, type Read } from './section.ts';
import { UnsavedForm } from './unsaved-form.tsx';
import { useAdministration } from './use-administration.ts';

export interface ItemPageProps {
  /** Empty where a section has a single item. */
  readonly id: string;
}

/** One resource: its fields, its actions and its parts. */
export function ItemPage({ id }: ItemPageProps) {
  const { section } = usePage();
  const operation = useAdministration().offered(section.get);
  if (operation === undefined) return <Heading section={section} title={texts.administration.notOffered} />;
  return <LoadedItem id={id} operation={operation} />;
}

function LoadedItem({ operation, id }: ItemPageProps & { readonly operation: Operation }) {
  const { section, show } = usePage();
  const { client } = useSignedIn();
  const { api, offered } = useAdministration();
  const [isEditing, setEditing] = useState(false);
  // Each action may have changed the parts.
  const [turn, setTurn] = useState(0);
  const path = including(filled(operation.path, [id]), section.include?.get);
  const {
    value: item,
    problem,
    reload,
  } = useResource(path, (signal) => client.fetch<Item>(path, { signal }), { isMoving: isUnderWay });
  if (item === null) {
    return (
      <>
        <Heading section={section} title={problem === '' ? texts.administration.loading : section.title} />
        <Problem text={problem} />
      </>
    );
  }
  const update = offered(section.update);
  const isEditable = update !== undefined && item.editability !== 'read_only';
  const ids = id === '' ? [] : [id];
  const { More, actions = [], parts = [] } = section;
  const title = titleOf(item, section);
  const here = actions.filter(({ when }) => when?.(item) ?? true);
  const onDone = () => {
    void reload();
    setTurn(turn + 1);
  };
  const about = { ids, of: title, onDone };
  return (
    <>
      <Heading section={section} title={title}>
        {isEditable && !isEditing && (
          <Button icon={Pencil} onClick={() => setEditing(true)}>
            {texts.administration.edit}
          </Button>
        )}
        {here
          .filter(({ isDanger }) => isDanger !== true)
          .map((action) => (
            <ActionButton key={action.label} action={action} {...about} />
          ))}
        <ActionMenu actions={here.filter(({ isDanger }) => isDanger)} {...about} />
      </Heading>
      {section.list === undefined && <p class="administration-about">{section.about}</p>}
      <Problem text={problem} />
      {isEditing && update !== undefined ? (
        <EditForm
          id={id}
          update={update}
          item={item}
          onDone={(saved) => {
            setEditing(false);
            if (saved === undefined) return;
            show(texts.administration.saved, { secret: secretOf(saved, section.secret), of: title });
            void reload();
          }}
        />
      ) : (
        <>
          <Facts schema={operation.answer} value={item} resolve={api.resolve} omit={section.omit ?? []} />
          {More && <More item={item} reload={reload} />}
          {parts.map((part) => (
            <PartView key={`${part.title} ${turn}`} part={part} item={item} schema={operation.answer} />
          ))}
        </>
      )}
    </>
  );
}

interface EditFormProps extends ItemPageProps {
  readonly update: Operation;
  readonly item: Item;
  /** With the answer, or without one if nothing was saved. */
  readonly onDone: (saved?: Item) => void;
}

function EditForm({ id, update, item, onDone }: EditFormProps) {
  const { section } = usePage();
  const { api, offered, call, special } = useAdministration();
  const [asked, setAsked] = useState<{ readonly body: object; readonly meaning: Meaning }>();
  const { texts: words, beside } = section;
  const shape = useMemo(() => worded(shapeOf(update.body ?? {}, api.resolve), words), [update, api, words]);
  const save = async (body: object) => {
    const isNothing = update.method === 'PATCH' && Object.keys(body).length === 0;
    onDone(isNothing ? item : ((await call(update, { ids: [id], body })) as Item));
  };
  const read: Read = async (name, values) => {
    const operation = offered(name);
    if (operation === undefined) throw new Error(texts.administration.meaningUnknown(name));
    const given = Object.entries(values).filter(([, value]) => value !== null);
    return await call(operation, { query: new URLSearchParams(given.map(([key, it]) => [key, String(it)])) });
  };
  const submit = async (body: object) => {
    if (section.meaningOf === undefined) await save(body);
    else setAsked({ body, meaning: await section.meaningOf(body, read) });
  };
  return (
    <>
      <UnsavedForm
        shape={shape}
        beside={beside}
        value={section.asBody?.(item) ?? item}
        sendsChanges={update.method === 'PATCH'}
        submitLabel={texts.administration.save}
        special={special}
        onCancel={() => onDone()}
        onSubmit={submit}
      />
      {asked !== undefined && (
        <Confirm
          title={texts.administration.askChange(section.one)}
          text={asked.meaning.text}
          tick={asked.meaning.tick}
          action={texts.administration.change(section.one)}
          isDanger
          onConfirm={() => save(asked.body)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  );
}
