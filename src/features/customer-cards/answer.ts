import { ApiError } from '@parley/protocol/errors/errors.ts';
import {
  CardAnswer,
  type CardAnswer as CardAnswerValue,
  type CardError,
  type CustomerCard,
} from '@parley/protocol/resources/customer-card.ts';
import { compile, parseObject } from '@parley/protocol/validation/validation.ts';

/** What the answer of a source comes to. */
export interface ReadAnswer {
  readonly status: CustomerCard['status'];
  readonly title?: string | null;
  readonly fields?: CustomerCard['fields'];
  readonly error?: CardError;
  readonly detail?: string;
}

/** Returns what a source answered (docs/contract.md#customer-cards). */
export async function readAnswer(response: Response): Promise<ReadAnswer> {
  const { status, headers } = response;
  if (status === 204 || status === 404) return { status: 'none' };
  if (status >= 300 && status < 400) return { status: 'failed', error: 'redirect' };
  if (status !== 200) return { status: 'failed', error: 'status' };
  const type = headers.get('content-type') ?? '';
  if (!/^application\/json\s*(?:;|$)/i.test(type)) {
    return invalidAnswer('The Content-Type is not application/json.');
  }
  try {
    const { title = null, fields } = validate(parseObject(await response.text()));
    return { status: 'ready', title, fields: fields.map(shownField) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return invalidAnswer(error.param === null ? error.message : `${error.param}: ${error.message}`);
  }
}

const validate = compile(CardAnswer);

function shownField(
  { label, value, url }: CardAnswerValue['fields'][number],
  index: number,
): CustomerCard['fields'][number] {
  return { label, value, url: url === undefined ? null : readLink(url, `fields[${index}].url`) };
}

function readLink(text: string, param: string): string {
  const url = URL.parse(text);
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return url.href;
  throw new ApiError('validation_failed', 'Must be an https URL without a user name.', { param });
}

function invalidAnswer(detail: string): ReadAnswer {
  return { status: 'failed', error: 'invalid_response', detail };
}
