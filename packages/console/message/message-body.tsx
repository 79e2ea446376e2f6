import type { TimelineMessage } from '@parley/client';
import { isPlainText } from '@parley/markdown/message-text.ts';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import { Markdown } from '@parley/ui/text/markdown.tsx';
import type { ComponentChildren } from 'preact';
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
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
  if (message.body === null)
    return isStreaming ? <p class="message-writing">{texts.message.writing}</p> : null;
  const text = (
    <Markdown text={message.body} isPlain={isPlainText(message)} {...(mentioned.length > 0 && { words })} />
  );
  if (isStreaming) return <div class="message-body message-body-growing">{text}</div>;
  if (message.body.length > LONG_TEXT || message.body.split('\n', LONG_LINES).length === LONG_LINES) {
    return <LongBody>{text}</LongBody>;
  }
  const isEmoji = message.body.length <= MOST_EMOJI_UNITS && isEmojiAlone(message.body);
  return <div class={isEmoji ? 'message-body message-body-emoji' : 'message-body'}>{text}</div>;
}

/** Texts that are shorter than both need no measuring: they are not as high as some screens. */
const LONG_TEXT = 3_000;
const LONG_LINES = 40;
/** Three emoji, each of them a family or a flag. */
const MOST_EMOJI_UNITS = 60;

/** Returns whether a text is one to three emoji and nothing else. */
function isEmojiAlone(text: string): boolean {
  const characters = [...new Intl.Segmenter().segment(text.replaceAll(/\s/g, ''))];
  return characters.length <= 3 && characters.every(({ segment }) => EMOJI.test(segment));
}

/** A character that is drawn as a picture: by itself, by its selector, as a flag or a key. */
const EMOJI = /^(?:\p{Emoji_Presentation}|\p{Regional_Indicator}{2}|[\p{Emoji}\d#*]\uFE0F)/u;

/** A text that is higher than some screens shows its beginning, and all of it on request. */
function LongBody({ children }: { readonly children: ComponentChildren }) {
  const body = useRef<HTMLDivElement>(null);
  const [isHigh, setHigh] = useState(false);
  const [isOpen, setOpen] = useState(false);
  useLayoutEffect(() => {
    setHigh(body.current!.scrollHeight > HIGH_PX);
  }, [children]);
  const isCut = isHigh && !isOpen;
  return (
    <>
      <div ref={body} class={isCut ? 'message-body message-body-cut' : 'message-body'}>
        {children}
      </div>
      {isHigh && (
        <button type="button" class="message-more" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? texts.message.showLess : texts.message.showMore}
        </button>
      )}
    </>
  );
}

const HIGH_PX = 1_200;

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
  if (redaction === null) return <p class="message-gone">{texts.message.wasDeleted}</p>;
  const by = redaction.by === null ? undefined : people.get(redaction.by)?.name;
  return <p class="message-gone">{texts.message.contentRemoved(by ?? '', redaction.reason ?? '')}</p>;
}
