import { connect } from '@parley/client';
import { Answer } from './answer';

interface PageProps {
  readonly searchParams: Promise<Record<string, string>>;
}

export default async function Page({ searchParams }: PageProps) {
  const { url = '', account = '', token = '', conversation: id = '' } = await searchParams;
  const client = connect({ url, account, token });
  const { title } = await client.conversations.get(id);
  client.close();
  return (
    <main>
      <h1>{title}</h1>
      <Answer url={url} account={account} token={token} id={id} />
    </main>
  );
}
