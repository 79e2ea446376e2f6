/** `useChat` of the AI SDK over conversations of Parley. */

export { type ChatOfParley, ParleyChatTransport, type ParleyChatTransportOptions } from './chat-transport.ts';
export { toUIMessages } from './ui-messages.ts';
