import type { People } from '@parley/client';
import { Avatar } from '@parley/ui/elements/avatar.tsx';

export interface ReadByProps {
  /** Ids of actors, with spaces between. */
  readonly readers: string;
  readonly people: People;
}

/** The actors whose last read message stands above. */
export function ReadBy({ readers, people }: ReadByProps) {
  if (readers === '') return null;
  const all = readers.split(' ').flatMap((id) => people.get(id) ?? []);
  if (all.length === 0) return null;
  const names = `Read by ${all.map(({ name }) => name).join(', ')}`;
  const shown = all.slice(0, MOST_SHOWN);
  return (
    <p class="read-by" title={names}>
      <span class="hidden-visually">{names}</span>
      {shown.map(({ id, name, avatar_url }) => (
        <Avatar key={id} name={name ?? ''} url={avatar_url} size={16} />
      ))}
      {all.length > shown.length && <small aria-hidden="true">+{all.length - shown.length}</small>}
    </p>
  );
}

const MOST_SHOWN = 6;
