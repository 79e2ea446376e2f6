import type { WidgetLanguage } from '@parley/protocol/resources/widget-languages.ts';

/** The texts of the mail that confirms an address, in a language of the widget. */
interface ConfirmationTexts {
  readonly subject: string;
  /** `{site}` is the host of the page. The link follows. */
  readonly asked: string;
  readonly code: string;
  readonly otherwise: string;
  /** The words of the link. */
  readonly open: string;
}

export const CONFIRMATION_TEXTS: Readonly<Record<WidgetLanguage, ConfirmationTexts>> = {
  en: {
    subject: 'Confirm your email address',
    asked:
      'This address was typed into a chat of {site}. If that was you, open the link to go on with the chat in the browser that you open it in. It works once, within an hour.',
    code: 'Or type this code into the page where you asked for it, to go on there: {code}',
    otherwise:
      'If it was not you, do nothing, and give the code to no one: without the link or the code the chat learns nothing of you.',
    open: 'Go on with the chat',
  },
  ar: {
    subject: 'أكّد عنوان بريدك الإلكتروني',
    asked:
      'كُتب هذا العنوان في محادثة على {site}. إن كنت أنت من كتبه فافتح الرابط لتتابع المحادثة في المتصفح الذي تفتحه فيه. يعمل الرابط مرة واحدة وخلال ساعة.',
    code: 'أو اكتب هذا الرمز في الصفحة التي طلبته منها لتتابع هناك: {code}',
    otherwise:
      'إن لم تكن أنت فلا تفعل شيئًا ولا تعطِ الرمز لأحد: بدون الرابط أو الرمز لا تعرف المحادثة عنك شيئًا.',
    open: 'متابعة المحادثة',
  },
  de: {
    subject: 'Bestätigen Sie Ihre E-Mail-Adresse',
    asked:
      'Diese Adresse wurde in einem Chat von {site} eingegeben. Wenn Sie das waren, öffnen Sie den Link, um den Chat in dem Browser fortzusetzen, in dem Sie ihn öffnen. Er funktioniert einmal, innerhalb einer Stunde.',
    code: 'Oder geben Sie diesen Code auf der Seite ein, auf der Sie ihn angefordert haben, um dort fortzufahren: {code}',
    otherwise:
      'Wenn Sie es nicht waren, tun Sie nichts, und geben Sie den Code niemandem: Ohne den Link oder den Code erfährt der Chat nichts über Sie.',
    open: 'Chat fortsetzen',
  },
  es: {
    subject: 'Confirme su dirección de correo electrónico',
    asked:
      'Esta dirección se escribió en un chat de {site}. Si fue usted, abra el enlace para continuar el chat en el navegador en el que lo abra. Funciona una sola vez y durante una hora.',
    code: 'O escriba este código en la página donde lo pidió para continuar allí: {code}',
    otherwise:
      'Si no fue usted, no haga nada y no dé el código a nadie: sin el enlace o el código, el chat no sabe nada de usted.',
    open: 'Continuar el chat',
  },
  fr: {
    subject: 'Confirmez votre adresse e-mail',
    asked:
      'Cette adresse a été saisie dans une discussion de {site}. Si c’était vous, ouvrez le lien pour poursuivre la discussion dans le navigateur où vous l’ouvrez. Il fonctionne une seule fois, pendant une heure.',
    code: 'Ou saisissez ce code sur la page où vous l’avez demandé, pour y continuer : {code}',
    otherwise:
      'Si ce n’était pas vous, ne faites rien et ne donnez le code à personne : sans le lien ni le code, la discussion n’apprend rien de vous.',
    open: 'Poursuivre la discussion',
  },
  it: {
    subject: 'Confermi il Suo indirizzo e-mail',
    asked:
      'Questo indirizzo è stato inserito in una chat di {site}. Se è stato Lei, apra il link per continuare la chat nel browser in cui lo apre. Funziona una sola volta, entro un’ora.',
    code: 'Oppure inserisca questo codice nella pagina in cui lo ha richiesto, per continuare lì: {code}',
    otherwise:
      'Se non è stato Lei, non faccia nulla e non dia il codice a nessuno: senza il link o il codice la chat non viene a sapere nulla di Lei.',
    open: 'Continua la chat',
  },
  ja: {
    subject: 'メールアドレスの確認',
    asked:
      'このアドレスが {site} のチャットに入力されました。ご本人の場合はリンクを開いてください。開いたブラウザーでチャットを続けられます。リンクは1時間以内に1回だけ使えます。',
    code: 'または、コードを求めたページに次のコードを入力すると、そこで続けられます: {code}',
    otherwise:
      'お心当たりがない場合は何もせず、コードを誰にも教えないでください。リンクもコードも使われなければ、チャットにお客様の情報は伝わりません。',
    open: 'チャットを続ける',
  },
  nl: {
    subject: 'Bevestig uw e-mailadres',
    asked:
      'Dit adres is ingevuld in een chat van {site}. Was u dat, open dan de link om de chat voort te zetten in de browser waarin u hem opent. De link werkt één keer, binnen een uur.',
    code: 'Of voer deze code in op de pagina waar u erom vroeg, om daar verder te gaan: {code}',
    otherwise:
      'Was u het niet, doe dan niets en geef de code aan niemand: zonder de link of de code komt de chat niets over u te weten.',
    open: 'Ga verder met de chat',
  },
  pl: {
    subject: 'Potwierdź swój adres e-mail',
    asked:
      'Ten adres podano na czacie w witrynie {site}. Jeśli to Ty, otwórz link, aby kontynuować czat w przeglądarce, w której go otworzysz. Link działa raz, w ciągu godziny.',
    code: 'Możesz też wpisać ten kod na stronie, na której o niego poproszono, aby kontynuować tam: {code}',
    otherwise:
      'Jeśli to nie Ty, nic nie rób i nie podawaj nikomu kodu: bez linku i kodu czat niczego się o Tobie nie dowie.',
    open: 'Kontynuuj czat',
  },
  pt: {
    subject: 'Confirme o seu endereço de e-mail',
    asked:
      'Este endereço foi escrito num chat de {site}. Se foi você, abra o link para continuar o chat no navegador em que o abrir. Funciona uma só vez, durante uma hora.',
    code: 'Ou escreva este código na página onde o pediu, para continuar lá: {code}',
    otherwise:
      'Se não foi você, não faça nada e não dê o código a ninguém: sem o link ou o código, o chat não fica a saber nada sobre você.',
    open: 'Continuar o chat',
  },
  tr: {
    subject: 'E-posta adresinizi onaylayın',
    asked:
      'Bu adres {site} sitesindeki bir sohbete yazıldı. Yazan sizseniz, sohbete bağlantıyı açtığınız tarayıcıda devam etmek için bağlantıyı açın. Bağlantı bir kez ve bir saat içinde kullanılabilir.',
    code: 'Ya da orada devam etmek için bu kodu, istediğiniz sayfaya yazın: {code}',
    otherwise:
      'Yazan siz değilseniz hiçbir şey yapmayın ve kodu kimseye vermeyin: bağlantı veya kod olmadan sohbet sizin hakkınızda hiçbir şey öğrenmez.',
    open: 'Sohbete devam et',
  },
  zh: {
    subject: '确认您的电子邮件地址',
    asked:
      '有人在 {site} 的聊天中填写了此地址。如果是您本人，请打开链接，在打开链接的浏览器中继续聊天。链接仅可使用一次，一小时内有效。',
    code: '或者在您请求验证码的页面中输入此验证码，在那里继续：{code}',
    otherwise:
      '如果不是您本人，请不要进行任何操作，也不要把验证码告诉任何人：没有链接或验证码，聊天不会得知您的任何信息。',
    open: '继续聊天',
  },
};
