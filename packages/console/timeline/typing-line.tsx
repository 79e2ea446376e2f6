import { useTyping } from '@parley/client/react';

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
  if (names.length === 0) return '';
  if (names.length === 1) return `${names[0]} is typing…`;
  return names.length === 2 ? `${names[0]} and ${names[1]} are typing…` : 'Several people are typing…';
}
