import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { texts } from '../texts/texts.ts';

/** A conversation's identity in a list: its name, and the subject of its picture. */
export interface ConversationName {
  readonly name: string;
  readonly avatarUrl: string | null;
  /** The other user of a direct message, whose presence is shown. */
  readonly otherId: string | null;
}

/** Returns the title of a conversation, or the names of its people other than the reader. */
export function nameOf(conversation: Conversation, myId: string): ConversationName {
  const { type, audience, title, participants } = conversation;
  const others = (participants ?? [])
    .filter(
      ({ actor_id, membership }) => actor_id !== myId && membership !== 'left' && membership !== 'removed',
    )
    .flatMap(({ type: kind, actor }) => (actor === null ? [] : [{ kind, actor }]));
  const customer = others.find(({ kind }) => kind === 'customer')?.actor;
  const [first] = others;
  if (type === 'direct_message') {
    const other = first?.actor;
    return {
      name: title ?? (other === undefined ? texts.names.directMessage : named(other)),
      avatarUrl: other?.avatar_url ?? null,
      otherId: other?.id ?? null,
    };
  }
  const avatarUrl = audience === 'customer' ? (customer?.avatar_url ?? null) : null;
  const names = customer === undefined ? others.map(({ actor }) => named(actor)) : [named(customer)];
  return { name: title ?? joined(names), avatarUrl, otherId: null };
}

function named({ name, handle }: Actor): string {
  return name ?? handle ?? texts.names.nameless;
}

function joined(names: readonly string[]): string {
  if (names.length === 0) return texts.names.untitled;
  const shown = names.slice(0, MOST_NAMES).join(', ');
  return names.length > MOST_NAMES ? texts.names.andMore(shown, names.length - MOST_NAMES) : shown;
}

const MOST_NAMES = 3;
