import { newId } from '@parley/protocol/ids.ts';
import type { AttachmentInput, SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { TraceContext } from '@parley/protocol/traceparent.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { ConversationFacts } from '../../conversations/directory/directory.ts';
import { statedMetadata } from '../../resources/metadata.ts';
import type { NewAttachment } from '../rows/new-message.ts';
import { channelOf, goesToCustomer } from '../rules/destination.ts';
import { allMentions } from '../rules/mentions.ts';
import type { ComposedQuestion } from '../rules/questions.ts';
import type { Outgoing } from '../timeline/outgoing.ts';
import { type Resolved, resourceOf } from './resolve.ts';

/** The parts of a message that forwards another one. */
export interface Forwarding {
  /** The caller's own words, before the text that is forwarded, which mentions no participant. */
  readonly words: string | undefined;
  /** They take the place of those of the body. */
  readonly attachments: readonly NewAttachment[];
}

/** What a message has that its body does not state. */
interface Composing {
  readonly trace: TraceContext | undefined;
  readonly forwarding: Forwarding | undefined;
  readonly question: ComposedQuestion | undefined;
}

/** Builds a message. */
export function compose(
  principal: Principal,
  facts: ConversationFacts,
  body: SendMessageBody,
  resolved: Resolved,
  { trace, forwarding, question }: Composing,
): Outgoing {
  const linked = resourceOf(resolved, body.link_resource_type, body.link_resource_id);
  const external = goesToCustomer(body);
  const { words } = forwarding ?? { words: body.body };
  const sender = external && !principal.customer ? facts.persona : principal.actor;
  return {
    message: {
      id: newId('message'),
      account_id: facts.accountId,
      conversation_id: facts.id,
      kind: principal.actor.type === 'agent' ? 'agent' : 'chat',
      visibility: external ? 'external' : 'internal',
      channel: principal.customer ? 'message' : channelOf(body, facts),
      body: body.body || question?.body || null,
      subject: body.subject || null,
      cc: body.cc === undefined ? null : uniqueAddresses(body.cc),
      mentions: allMentions(facts, principal.actor.id, words, [
        ...(body.mentions ?? []),
        ...(question?.mentions ?? []),
      ]),
      sender_id: sender?.id ?? null,
      author_id: principal.actor.id,
      reply_to_id: body.reply_to_message_id ?? null,
      resource_type: linked?.type ?? null,
      resource_id: linked?.id ?? null,
      agent_run_id: null,
      streaming_state: null,
      client_message_id: body.mode === 'draft' ? null : (body.client_message_id ?? null),
      attachments: forwarding?.attachments ?? newAttachments(body.attachments ?? [], resolved),
      metadata: body.metadata && statedMetadata(body.metadata),
      ...(question !== undefined && { question: question.question }),
    },
    sender,
    audience: facts.audience,
    facts,
    trace,
  };
}

export function newAttachments(inputs: readonly AttachmentInput[], resolved: Resolved): NewAttachment[] {
  return inputs.map((input, position) => {
    const { kind, resource_type, resource_id } = input;
    const file = resolved.files.get(position);
    const resource = kind === 'resource' ? resourceOf(resolved, resource_type, resource_id) : undefined;
    return {
      id: newId('attachment'),
      position,
      kind,
      s3_key: file?.s3_key ?? null,
      filename: file?.filename ?? null,
      content_type: file?.content_type ?? null,
      size_bytes: file?.size_bytes ?? null,
      url: kind === 'link' ? input.url! : null,
      resource_type: resource?.type ?? null,
      resource_id: resource?.id ?? null,
      ...(input.metadata !== undefined && { metadata: statedMetadata(input.metadata) }),
      ...(file !== undefined && {
        download_url: file.download_url,
        picture_metadata: file.picture_metadata,
      }),
      ...(resource !== undefined && { resource }),
    };
  });
}

/** Returns each address once, as it was first written, ignoring letter case. */
export function uniqueAddresses(addresses: readonly string[]): string[] {
  const byAddress = Map.groupBy(addresses, (address) => address.toLowerCase());
  return [...byAddress.values()].map(([first]) => first!);
}
