import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { ParleyError } from '../errors/parley-error.ts';

/** Shows what was kept on the device until the server has answered, and keeps what it answers. */
export interface KeptPages {
  inbox<Values extends InboxPart>(query: object, set: (values: Values) => void): OpenInbox<Values>;
  /** Returns the function to be called at the end. */
  conversation(live: OpenConversation, timeline: KeptTimeline): () => void;
}

/** The part of an inbox's snapshot that is kept. */
export interface InboxPart {
  readonly conversations?: readonly Conversation[];
  readonly error?: ParleyError | null;
}

/** An inbox whose rows are kept. */
export interface OpenInbox<Values> {
  /** In place of the inbox's own. */
  readonly set: (values: Values) => void;
  readonly close?: () => void;
}

/** The part of a LiveConversation that is kept. */
export interface OpenConversation {
  readonly id: string;
  readonly snapshot: { readonly status: 'loading' | 'ready' | 'ended' };
  readonly messages: readonly { readonly delivery: string }[];
  on(event: 'change', listener: (change: { readonly what: string }) => void): () => void;
  on(event: 'end', listener: () => void): () => void;
}

/** A message of the server, as a timeline has it. */
export type KeptMessage = ChatMessage & {
  readonly delivery: 'sent';
  readonly key: string;
  readonly pending?: true;
};

/** The part of a Timeline that shows what was kept. */
export interface KeptTimeline {
  /** Adds messages of an earlier visit to those that arrived, until the first page was read. */
  kept?:
    | ((sent: readonly KeptMessage[], echoes: readonly { readonly key: string }[]) => readonly KeptMessage[])
    | undefined;
  touch(): void;
}
