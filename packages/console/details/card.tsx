import { ParleyError } from '@parley/client';
import type { CardError, CustomerCard } from '@parley/protocol/resources/customer-card.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { shownName } from '@parley/ui/text/shown-name.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { Section } from './section.tsx';

export interface CardProps {
  readonly conversationId: string;
  readonly participantId: string;
}

/** What the account's own application says of a customer; nothing where it says nothing. */
export function Card({ conversationId, participantId }: CardProps) {
  const { client } = useSignedIn();
  const path = `/v1/messaging/conversations/${conversationId}/participants/${participantId}/card`;
  const { value, problem, reload } = useResource(path, async (signal) => {
    try {
      return await client.fetch<CustomerCard>(path, { signal });
    } catch (error) {
      // A server without cards, or a customer that has just left.
      if (error instanceof ParleyError && error.code === 'resource_not_found') return null;
      throw error;
    }
  });
  const sentence = value?.status === 'failed' ? wordsOf(value) : problem;
  if (sentence !== '') {
    return (
      <Section title={TITLE}>
        <p class="section-empty">{sentence}</p>
        <Button look="plain" onClick={reload}>
          Try again
        </Button>
      </Section>
    );
  }
  if (value?.status !== 'ready') return null;
  return (
    <Section title={value.title === null ? TITLE : shownName(value.title)}>
      <dl class="card">
        {value.fields.map(({ label, value: text, url }, index) => (
          <div key={index} class="card-field">
            <dt>{shownName(label)}</dt>
            <dd>
              {url === null ? (
                text
              ) : (
                <a href={url} target="_blank" rel="noopener noreferrer nofollow ugc">
                  {text}
                </a>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

const TITLE = 'From your application';

function wordsOf({ error, detail }: CustomerCard): string {
  return error === null ? '' : WORDS[error] + (detail === null ? '' : ` ${detail}`);
}

const WORDS: Readonly<Record<CardError, string>> = {
  connection_error: 'Your application could not be reached.',
  timeout: 'Your application did not answer within three seconds.',
  status: 'Your application answered with an error.',
  redirect: 'Your application answered with a redirect, which is not followed.',
  invalid_response: 'The answer of your application cannot be shown.',
};
