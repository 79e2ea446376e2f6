import type { Client, LiveConversation, People } from '@parley/client';
import { useConversation } from '@parley/client/react';
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useMemo } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';
import { type ConversationRights, conversationRights } from './message-rights.ts';

/** The context that the rows of a conversation share. */
export interface MessageContext {
  readonly conversationId: string;
  readonly client: Client;
  readonly live: LiveConversation | undefined;
  readonly people: People;
  readonly rights: ConversationRights;
  /** The customers of a case; null in a conversation without one. */
  readonly customerIds: ReadonlySet<string> | null;
  readonly pinnedIds: ReadonlySet<string>;
}

const UNKNOWN = { participants: null, status: 'archived', blocked: true, audience: 'internal' } as const;

const Context = createContext<MessageContext | null>(null);

/** Returns the context of a row, which stands within `MessagesOf`. */
export function useMessageContext(): MessageContext {
  return useContext(Context)!;
}

export interface MessagesOfProps {
  readonly conversationId: string;
  readonly children: ComponentChildren;
}

/** Stands around rows of a conversation. It changes seldom, so that rows stay as they are. */
export function MessagesOf({ conversationId, children }: MessagesOfProps) {
  const { client, me } = useSignedIn();
  const { live, people, pins, conversation } = useConversation(conversationId);
  const { participants, status, blocked = false, audience } = conversation ?? UNKNOWN;
  const rights = useMemo(
    () => conversationRights(me, { participants, status, blocked }),
    [me, participants, status, blocked],
  );
  const customerIds = useMemo(() => {
    if (audience !== 'customer') return null;
    const customers = (participants ?? []).filter(({ type }) => type === 'customer');
    return new Set(customers.flatMap(({ actor_id }) => actor_id ?? []));
  }, [audience, participants]);
  const pinnedIds = useMemo(() => new Set(pins.map(({ message_id }) => message_id)), [pins]);
  const value = useMemo(
    () => ({ conversationId, client, live, people, rights, customerIds, pinnedIds }),
    [conversationId, client, live, people, rights, customerIds, pinnedIds],
  );
  return <Context.Provider value={value}>{children}</Context.Provider>;
}
