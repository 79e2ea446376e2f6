import type { List } from '@parley/protocol/lists.ts';
import type { ConversationView, ViewFilters } from '@parley/protocol/resources/conversation-view.ts';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useSignedIn } from '../session/session-context.tsx';

const VIEWS = '/v1/messaging/views';

export interface Views {
  /** The person's own, the oldest first. */
  readonly views: readonly ConversationView[];
  readonly save: (name: string, filters: ViewFilters) => Promise<void>;
  readonly remove: (id: string) => Promise<void>;
}

/** Reads the lists that the person has saved, once `isWanted`. */
export function useViews(isWanted: boolean): Views {
  const { client } = useSignedIn();
  const { value, reload } = useResource(isWanted ? client : null, () =>
    client.fetch<List<ConversationView>>(`${VIEWS}?limit=100`),
  );
  return {
    views: value?.data ?? [],
    async save(name, filters) {
      await client.fetch(VIEWS, { method: 'POST', body: { name, filters } });
      await reload();
    },
    async remove(id) {
      await client.fetch(`${VIEWS}/${id}`, { method: 'DELETE' });
      await reload();
    },
  };
}
