import type { Client } from '@parley/client';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Choice } from '@parley/ui/choices/choice-line.tsx';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { Headset } from 'lucide';
import { nameOf } from '../names/conversation-name.ts';
import { texts } from '../texts/texts.ts';

/**
 * Returns conversations whose title or members have the words, or for no words the latest ones.
 * With an id, returns only that conversation.
 */
export async function findConversations(client: Client, words: string, id?: string): Promise<Choice[]> {
  const found =
    id !== undefined
      ? [await client.conversations.get(id, ['participants'])]
      : words === ''
        ? await latest(client)
        : await searched(client, words);
  const myId = client.actor?.id ?? '';
  return found.map((conversation) => conversationChoice(conversation, myId));
}

async function latest(client: Client): Promise<readonly Conversation[]> {
  const { value } = await client.conversations
    .list({ order: 'activity', include: ['participants'], limit: MOST_FOUND })
    .next();
  return value?.data ?? [];
}

async function searched(client: Client, words: string): Promise<Conversation[]> {
  const { value } = await client
    .search(words, { type: 'conversations', include: ['participants'], limit: MOST_FOUND })
    .next();
  return (value?.data ?? []).flatMap(({ conversation }) => conversation ?? []);
}

/** Returns a conversation as a choice. */
function conversationChoice(conversation: Conversation, myId: string): Choice {
  const { name, avatarUrl } = nameOf(conversation, myId);
  return {
    id: conversation.id,
    name,
    detail: texts.search.kinds[kindOf(conversation)],
    picture:
      conversation.audience === 'customer' ? (
        <Icon of={Headset} />
      ) : (
        <Avatar name={name} url={avatarUrl} size={24} />
      ),
  };
}

function kindOf({ type, audience }: Conversation): keyof typeof texts.search.kinds {
  return audience === 'customer' ? 'case' : type;
}

const MOST_FOUND = 8;
