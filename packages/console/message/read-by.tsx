import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { texts } from '../texts/texts.ts';
import { useMessageContext } from './message-context.tsx';

/** The actors whose last read message stands above, by their ids with spaces between. */
export function ReadBy({ readers }: { readonly readers: string }) {
  const { people } = useMessageContext();
  if (readers === '') return null;
  const all = readers.split(' ').flatMap((id) => people.get(id) ?? []);
  if (all.length === 0) return null;
  const names = texts.message.readBy(all.map(({ name }) => name).join(', '));
  const shown = all.slice(0, MOST_SHOWN);
  return (
    <p class="read-by" title={names}>
      <span class="hidden-visually">{names}</span>
      <small class="read-by-words" aria-hidden="true">
        {texts.message.read}
      </small>
      {shown.map(({ id, name, avatar_url }) => (
        <Avatar key={id} name={name ?? ''} url={avatar_url} size={18} />
      ))}
      {all.length > shown.length && <small aria-hidden="true">+{all.length - shown.length}</small>}
    </p>
  );
}

const MOST_SHOWN = 6;
