import { useTyping } from '@parley/client/react';
import { texts } from '../texts/texts.ts';

/** The names of the people who type. Its place is kept, so that nothing moves. */
export function TypingLine({ conversationId }: { readonly conversationId: string }) {
  const { typing } = useTyping(conversationId);
  const names = typing.flatMap(({ name }) => name ?? []);
  return (
    <p class="typing-line" data-typing={names.length > 0}>
      {names.length > 0 && <span class="typing-line-dots" aria-hidden="true" />}
      {sentenceOf(names)}
    </p>
  );
}

function sentenceOf(names: readonly string[]): string {
  const [one, other] = names;
  if (one === undefined) return '';
  const { typing, twoTyping, severalTyping } = texts.timeline;
  if (other === undefined) return typing(one);
  return names.length === 2 ? twoTyping(one, other) : severalTyping;
}
