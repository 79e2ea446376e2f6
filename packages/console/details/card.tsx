import { ParleyError } from '@parley/client';
import type { CustomerCard } from '@parley/protocol/resources/customer-card.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { shownName } from '@parley/ui/text/shown-name.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
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
      <Section title={texts.details.fromApplication}>
        <p class="section-empty">{sentence}</p>
        <Button look="plain" onClick={reload}>
          {texts.details.tryAgain}
        </Button>
      </Section>
    );
  }
  if (value?.status !== 'ready') return null;
  return (
    <Section title={value.title === null ? texts.details.fromApplication : shownName(value.title)}>
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

function wordsOf({ error, detail }: CustomerCard): string {
  return error === null ? '' : texts.details.cardErrors[error] + (detail === null ? '' : ` ${detail}`);
}
