import type { People, SentMessage } from '@parley/client';
import { notifyFailure } from '@parley/ui/feedback/notify.ts';
import { texts } from '../texts/texts.ts';
import { useMessageContext } from './message-context.tsx';

/** The reactions to a message, with their counts. A click adds the own one or takes it back. */
export function MessageReactions({ message }: { readonly message: SentMessage }) {
  const { live, people, rights } = useMessageContext();
  const { ownId, mayReact } = rights;
  const reactions = message.reactions ?? [];
  if (reactions.length === 0) return null;
  return (
    <ul class="message-reactions" aria-label={texts.message.reactions}>
      {reactions.map(({ emoji, count, mine, actor_ids: ids }) => {
        const names = namesOf(ids, count, { people, ownId });
        const toggle = () =>
          (mine ? live?.unreact(message.id, emoji) : live?.react(message.id, emoji))?.catch(notifyFailure);
        return (
          <li key={emoji}>
            <button
              type="button"
              class="message-reaction"
              aria-pressed={mine}
              aria-label={`${emoji} ${count}: ${names}`}
              title={names}
              disabled={!mayReact}
              onClick={toggle}
            >
              <span class="message-reaction-emoji">{emoji}</span> {count}
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** Returns the names of those who reacted, as far as they are known. */
function namesOf(
  ids: readonly string[],
  count: number,
  { people, ownId }: { readonly people: People; readonly ownId: string },
): string {
  const names = ids.flatMap((id) => (id === ownId ? texts.message.you : (people.get(id)?.name ?? [])));
  const more = count - names.length;
  if (more > 0) names.push(texts.message.more(more));
  return names.join(', ');
}
