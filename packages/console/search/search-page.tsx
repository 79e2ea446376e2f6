import { useClient, useSearch } from '@parley/client/react';
import { previewOf } from '@parley/markdown/message-text.ts';
import type { SearchHit } from '@parley/protocol/resources/search-hit.ts';
import { ChoiceField } from '@parley/ui/choices/choice-field.tsx';
import type { Choice } from '@parley/ui/choices/choice-line.tsx';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { Button, IconButton } from '@parley/ui/elements/button.tsx';
import { useEvent } from '@parley/ui/hooks/use-event.ts';
import { fullTimeOf, shortTimeOf } from '@parley/ui/text/time.ts';
import { failureText } from '@parley/ui/texts/failure-text.ts';
import { X } from 'lucide';
import { useEffect, useRef, useState } from 'preact/hooks';
import { findPeople } from '../names/people.tsx';
import { Link } from '../nav/link.tsx';
import { go, type SearchKey, type SearchPlace, usePlace } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { findConversations } from './find-conversations.tsx';
import { Highlighted } from './highlights.tsx';
import { filterOf } from './search-filter.ts';

/** A search through the messages of all conversations, with its words in the address. */
export function SearchPage() {
  const { main } = usePlace();
  const search = main.at === 'search' ? main.search : {};
  const set = (key: SearchKey, value: string | undefined) => {
    const { [key]: _, ...others } = search;
    const next: SearchPlace = value ? { ...others, [key]: value } : others;
    go({ main: { at: 'search', search: next } }, { replace: true });
  };
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current!.focus(), []);
  return (
    <section class="search-page" aria-labelledby="search-title">
      <header class="search-head">
        <h1 id="search-title">{texts.search.title}</h1>
        <input
          ref={field}
          type="search"
          aria-label={texts.search.words}
          placeholder={texts.search.wordsHint}
          value={search.q ?? ''}
          onInput={(event) => set('q', event.currentTarget.value)}
        />
        <Filters search={search} set={set} />
      </header>
      <Results search={search} />
    </section>
  );
}

interface FiltersProps {
  readonly search: SearchPlace;
  readonly set: (key: SearchKey, value: string | undefined) => void;
}

function Filters({ search, set }: FiltersProps) {
  const { client } = useSignedIn();
  return (
    <fieldset class="search-filters">
      <legend class="hidden-visually">{texts.search.filters}</legend>
      <Chosen
        label={texts.search.in}
        placeholder={texts.search.anyConversation}
        id={search.in}
        nameOf={async (id) => (await findConversations(client, '', id))[0]?.name}
        find={(words) => findConversations(client, words)}
        onChange={(id) => set('in', id)}
      />
      <Chosen
        label={texts.search.from}
        placeholder={texts.search.anyPerson}
        id={search.by}
        nameOf={async (id) => client.actors.get(id)?.name}
        find={(words) => findPeople(client, words, () => true)}
        onChange={(id) => set('by', id)}
      />
      <label>
        {texts.search.since}
        <input
          type="date"
          value={search.after ?? ''}
          onInput={(event) => set('after', event.currentTarget.value)}
        />
      </label>
      <label>
        {texts.search.until}
        <input
          type="date"
          value={search.before ?? ''}
          onInput={(event) => set('before', event.currentTarget.value)}
        />
      </label>
      <label class="search-has">
        <input
          type="checkbox"
          checked={search.has === 'file'}
          onChange={(event) => set('has', event.currentTarget.checked ? 'file' : undefined)}
        />
        {texts.search.withFile}
      </label>
    </fieldset>
  );
}

interface ChosenProps {
  readonly label: string;
  readonly placeholder: string;
  readonly id: string | undefined;
  readonly nameOf: (id: string) => Promise<string | null | undefined>;
  readonly find: (words: string) => Promise<readonly Choice[]>;
  readonly onChange: (id: string | undefined) => void;
}

/** A filter by a thing that is found by its name. */
function Chosen({ label, placeholder, id, nameOf, find, onChange }: ChosenProps) {
  const [known, setKnown] = useState<Choice | null>(null);
  const knownId = known?.id;
  const naming = useEvent(nameOf);
  useEffect(() => {
    if (id === undefined || knownId === id) return;
    const show = (name: string | null | undefined) => setKnown({ id, name: name ?? texts.search.chosen });
    naming(id).then(show, () => show(null));
  }, [id, knownId, naming]);
  const name = knownId === id ? known?.name : undefined;
  if (id === undefined) {
    return (
      <ChoiceField
        label={label}
        placeholder={placeholder}
        find={find}
        onChoose={(choice) => {
          setKnown(choice);
          onChange(choice.id);
        }}
      />
    );
  }
  return (
    <div class="search-chosen">
      {label}
      <span class="search-chosen-name">
        {name ?? '…'}
        <IconButton
          icon={X}
          label={texts.search.without(label, name ?? '')}
          onClick={() => onChange(undefined)}
        />
      </span>
    </div>
  );
}

function Results({ search }: { readonly search: SearchPlace }) {
  const { hits, hasMore, status, error, live } = useSearch(search.q ?? '', filterOf(search));
  if ((search.q ?? '').trim() === '') {
    return <p class="search-note">{texts.search.typeWords}</p>;
  }
  if (status === 'error') {
    return (
      <p class="search-note" role="alert">
        {texts.search.failed} {error && failureText(error)}
      </p>
    );
  }
  const found = hits.flatMap((hit) => (hit.message === null ? [] : [hit]));
  return (
    <>
      <p class="search-note" role="status">
        {status === 'loading' ? texts.search.searching : found.length === 0 ? texts.search.none : ''}
      </p>
      <ol class="search-hits" aria-label={texts.search.messages}>
        {found.map((hit) => (
          <Hit key={hit.message!.id} hit={hit} />
        ))}
      </ol>
      {hasMore && status === 'ready' && (
        <Button class="search-more" onClick={() => void live?.loadMore()}>
          {texts.search.showMore}
        </Button>
      )}
    </>
  );
}

function Hit({ hit }: { readonly hit: SearchHit }) {
  const { conversation_id: id, highlights } = hit;
  const message = hit.message!;
  const client = useClient();
  const sender = message.sender ?? client?.actors.get(message.sender_id ?? '') ?? null;
  const name = sender?.name ?? texts.search.service;
  const shown = highlights.filter(({ field }) => field === 'body' || field === 'subject');
  return (
    <li>
      <Link to={{ main: { at: 'conversation', id, message: message.id } }} class="search-hit">
        <Avatar name={name} url={sender?.avatar_url} size={32} />
        <span class="search-hit-head">
          <b>{name}</b>
          <span>{texts.search.inConversation(message.conversation?.title)}</span>
          <time dateTime={message.created_at} title={fullTimeOf(message.created_at)}>
            {shortTimeOf(message.created_at)}
          </time>
        </span>
        <span class="search-hit-text">
          {shown.length === 0
            ? previewOf(message) || texts.search.file
            : shown.map((highlight, index) => (
                <span key={index} class="search-hit-part">
                  <Highlighted of={highlight} />
                </span>
              ))}
        </span>
      </Link>
    </li>
  );
}
