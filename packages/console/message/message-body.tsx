import type { TimelineMessage } from '@parley/client';
import { isPlainText } from '@parley/markdown/message-text.ts';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import { Markdown } from '@parley/ui/text/markdown.tsx';
import { useCallback, useRef } from 'preact/hooks';
import { useMessageContext } from './message-context.tsx';
import { piecesOf } from './message-text.ts';

interface MessageBodyProps {
  readonly message: TimelineMessage;
}

/** The text of a message, or the remains of a deleted one. */
export function MessageBody({ message }: MessageBodyProps) {
  const { people, rights } = useMessageContext();
  const ids = message.id === null ? message.request.mentions : message.mentions;
  const mentioned = (ids ?? []).flatMap((id) => people.get(id) ?? []);
  const words = useMentions(mentioned, rights.ownId);
  if (message.deleted_at !== null) return <Tombstone message={message} />;
  const isStreaming = message.streaming_state === 'streaming';
  if (message.body === null) return isStreaming ? <p class="message-writing">Writing…</p> : null;
  return (
    <div class={isStreaming ? 'message-body message-body-growing' : 'message-body'}>
      <Markdown text={message.body} isPlain={isPlainText(message)} {...(mentioned.length > 0 && { words })} />
    </div>
  );
}

/** Returns a function that draws a piece of text with the names of the mentioned actors. */
function useMentions(mentioned: readonly Actor[], ownId: string) {
  const known = useRef(mentioned);
  const isSame =
    known.current.length === mentioned.length && known.current.every((actor, at) => actor === mentioned[at]);
  if (!isSame) known.current = mentioned;
  const actors = known.current;
  return useCallback(
    (text: string) =>
      piecesOf(text, actors).map(({ text: piece, mention }, index) =>
        mention === undefined ? (
          piece
        ) : (
          <span key={index} class={mention.id === ownId ? 'mention mention-own' : 'mention'}>
            {piece}
          </span>
        ),
      ),
    [actors, ownId],
  );
}

function Tombstone({ message }: MessageBodyProps) {
  const { people } = useMessageContext();
  const redaction = message.id === null ? null : (message.redaction ?? null);
  if (redaction === null) return <p class="message-gone">This message was deleted.</p>;
  const by = redaction.by === null ? undefined : people.get(redaction.by)?.name;
  return (
    <p class="message-gone">
      The content of this message was removed{by ? ` by ${by}` : ''}
      {redaction.reason ? `: ${redaction.reason}` : '.'}
    </p>
  );
}
